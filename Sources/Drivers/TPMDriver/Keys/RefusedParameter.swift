extension TPMError {
    /// Whether the chip or its library could not parse a parameter, or did not recognise it as its own.
    var isRefusedParameter: Bool {
        guard case .response(let code) = self else { return false }
        guard code.tpmError != nil else { return code.layer == ResponseCode.marshallingLayer }
        // Format one, and the number is a parameter's (Part 2, section 6.6.2).
        return code.rawValue & 0xC0 == 0xC0
    }
}

extension ResponseCode {
    /// `TSS2_MU_RC_LAYER`.
    fileprivate static let marshallingLayer: UInt8 = 9
}
