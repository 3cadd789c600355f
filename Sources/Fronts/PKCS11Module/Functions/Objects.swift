import CPKCS11
import SecretMemory

// Object management functions (PKCS #11 2.40, section 5.7).

/// Refuses every object: keys are made by the command, and others are not stored.
@c @implementation
func C_CreateObject(
    _ session: CK_SESSION_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG,
    _ object: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(session: session)
        guard unsafe object != nil else { throw .argumentsBad }
        let template = try unsafe Template(attributes, count)
        // A private key that exists outside is none of the chip's.
        guard try template.objectClass() != CKO_PRIVATE_KEY else { throw .attributeValueInvalid }
        throw .tokenWriteProtected
    }
}

/// Forgets an object of a session; a key is deleted by the command, because any program may load a module.
@c @implementation
func C_DestroyObject(_ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { state throws(ReturnValue) in
            try state.check(session)
            guard try state.object(object).session != nil else {
                throw ReturnValue(code: CKR_ACTION_PROHIBITED)
            }
            state.objects[object] = nil
        }
    }
}

@c @implementation
func C_GetObjectSize(
    _ session: CK_SESSION_HANDLE,
    _ object: CK_OBJECT_HANDLE,
    _ size: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        _ = try module.object(object, for: session)
        guard let size = unsafe size else { throw .argumentsBad }
        unsafe size.pointee = CK_UNAVAILABLE
    }
}

@c @implementation
func C_GetAttributeValue(
    _ session: CK_SESSION_HANDLE,
    _ object: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        let object = try module.object(object, for: session)
        guard count <= Template.most, unsafe count == 0 || attributes != nil else { throw .argumentsBad }
        // Each attribute is answered, and the last fault reported (section 5.7, "C_GetAttributeValue").
        var fault: ReturnValue?
        for entry in unsafe UnsafeMutableBufferPointer(start: attributes, count: Int(count)).indices {
            do throws(ReturnValue) {
                try unsafe answer(&attributes.unsafelyUnwrapped[entry], by: object)
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
    }
}

/// Writes the value of one attribute; its length becomes `CK_UNAVAILABLE_INFORMATION` if that cannot be done.
private func answer(_ attribute: inout CK_ATTRIBUTE, by object: StoredObject) throws(ReturnValue) {
    let answer = object.attribute(unsafe attribute.type)
    let room = unsafe attribute.pValue
    let given = unsafe attribute.ulValueLen
    unsafe attribute.ulValueLen = CK_UNAVAILABLE
    let count =
        switch answer {
        case .value(let value): value.count
        case .secret(let secret): secret.octets.count
        case .sensitive: throw ReturnValue(code: CKR_ATTRIBUTE_SENSITIVE)
        case .unknown: throw ReturnValue(code: CKR_ATTRIBUTE_TYPE_INVALID)
        }
    if let room = unsafe room {
        guard given >= CK_ULONG(count) else { throw .bufferTooSmall }
        switch answer {
        case .value(let value): unsafe value.withUnsafeBytes { unsafe copy($0, to: room) }
        case .secret(let secret):
            secret.octets.withOctets { span in unsafe span.withUnsafeBytes { unsafe copy($0, to: room) } }
        case .sensitive, .unknown: break
        }
    }
    unsafe attribute.ulValueLen = CK_ULONG(count)
}

private func copy(_ octets: UnsafeRawBufferPointer, to room: UnsafeMutableRawPointer) {
    guard let start = octets.baseAddress else { return }
    unsafe room.copyMemory(from: start, byteCount: octets.count)
}

@c @implementation
func C_SetAttributeValue(
    _ session: CK_SESSION_HANDLE,
    _ object: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        _ = try module.object(object, for: session)
        _ = try unsafe Template(attributes, count)
        throw ReturnValue(code: CKR_ACTION_PROHIBITED)
    }
}

/// Begins a search; it shows a prompt only if the keys cannot be read before the first unlock, once per process.
@c @implementation
func C_FindObjectsInit(
    _ session: CK_SESSION_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.with(session) { session throws(ReturnValue) in
            guard session.found == nil else { throw .operationActive }
        }
        let template = try unsafe Template(attributes, count)
        let wanted = try template.objectClass()
        let mayBeKey = wanted == nil || wanted == CKO_PRIVATE_KEY || wanted == CKO_PUBLIC_KEY
        if mayBeKey, !template.excludesToken { try module.readKeys() }
        try module.withState { state throws(ReturnValue) in
            let found = state.objects.filter { $0.value.matches(template) }.keys.sorted()
            try state.with(session) { session throws(ReturnValue) in
                guard session.found == nil else { throw .operationActive }
                session.found = found[...]
            }
        }
    }
}

@c @implementation
func C_FindObjects(
    _ session: CK_SESSION_HANDLE,
    _ objects: UnsafeMutablePointer<CK_OBJECT_HANDLE>?,
    _ most: CK_ULONG,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(session: session)
        guard let count = unsafe count, unsafe most == 0 || objects != nil else { throw .argumentsBad }
        let some = try module.with(session) { session throws(ReturnValue) in
            guard let found = session.found else { throw .operationNotInitialized }
            let some = found.prefix(Int(min(most, CK_ULONG(Module.mostObjects))))
            session.found = found.dropFirst(some.count)
            return Array(some)
        }
        for (index, handle) in some.enumerated() { unsafe objects.unsafelyUnwrapped[index] = handle }
        unsafe count.pointee = CK_ULONG(some.count)
    }
}

@c @implementation
func C_FindObjectsFinal(_ session: CK_SESSION_HANDLE) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.with(session) { session throws(ReturnValue) in
            guard session.found != nil else { throw .operationNotInitialized }
            session.found = nil
        }
    }
}
