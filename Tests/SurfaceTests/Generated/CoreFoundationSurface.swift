// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import CoreFoundation
import Testing

@Suite("The surface of CoreFoundation")
struct CoreFoundationSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        let _: CFString.Type = CFString.self
        let _: CFDictionary.Type = CFDictionary.self
        let _: CFData.Type = CFData.self
        let _: CFArray.Type = CFArray.self
        let _: CFNumber.Type = CFNumber.self
        let _: CFBoolean.Type = CFBoolean.self
        let _: CFDate.Type = CFDate.self
        let _: CFError.Type = CFError.self
        let _: CFMutableDictionary.Type = CFMutableDictionary.self
        let _: CFTypeRef.Type = CFTypeRef.self
        let _: CFTypeID.Type = CFTypeID.self
        let _: CFIndex.Type = CFIndex.self
        let _: CFOptionFlags.Type = CFOptionFlags.self
        let _: CFAllocator.Type = CFAllocator.self
        let _: CFUUID.Type = CFUUID.self
        let _: CFBoolean? = kCFBooleanTrue
        let _: CFBoolean? = kCFBooleanFalse
        let _: CFAllocator? = kCFAllocatorDefault
        let _: CFNull? = kCFNull
        let _: (CFTypeRef?) -> CFTypeID = CFGetTypeID
        let _: (CFError?) -> CFIndex = CFErrorGetCode
        let _: (CFError?) -> CFString? = CFErrorGetDomain
        let _: (CFError?) -> CFString? = CFErrorCopyDescription
        let _: (CFError?) -> CFDictionary? = CFErrorCopyUserInfo
        let _: (CFAllocator?, CFString?, CFIndex, CFDictionary?) -> CFError? = CFErrorCreate
        let _: (CFTypeRef?, CFTypeRef?) -> Bool = CFEqual
        let _: (CFTypeRef?) -> CFHashCode = CFHash
        let _: (CFTypeRef?) -> CFString? = CFCopyDescription
        let _: (CFDictionary?, UnsafeRawPointer?) -> UnsafeRawPointer? = CFDictionaryGetValue
        let _: (CFAllocator?, UnsafeMutablePointer<UnsafeRawPointer?>?, UnsafeMutablePointer<UnsafeRawPointer?>?, CFIndex, UnsafePointer<CFDictionaryKeyCallBacks>?, UnsafePointer<CFDictionaryValueCallBacks>?) -> CFDictionary? = CFDictionaryCreate
        let _: (CFAllocator?, CFIndex, UnsafePointer<CFDictionaryKeyCallBacks>?, UnsafePointer<CFDictionaryValueCallBacks>?) -> CFMutableDictionary? = CFDictionaryCreateMutable
        let _: (CFMutableDictionary?, UnsafeRawPointer?, UnsafeRawPointer?) -> Void = CFDictionaryAddValue
        let _: (CFMutableDictionary?, UnsafeRawPointer?, UnsafeRawPointer?) -> Void = CFDictionarySetValue
        let _: (CFAllocator?, UnsafePointer<UInt8>?, CFIndex) -> CFData? = CFDataCreate
        let _: (CFData?) -> UnsafePointer<UInt8>? = CFDataGetBytePtr
        let _: (CFData?) -> CFIndex = CFDataGetLength
        let _: (CFArray?) -> CFIndex = CFArrayGetCount
        let _: (CFArray?, CFIndex) -> UnsafeRawPointer? = CFArrayGetValueAtIndex
        let _: () -> CFTypeID = CFDictionaryGetTypeID
        let _: () -> CFTypeID = CFDataGetTypeID
        let _: () -> CFTypeID = CFArrayGetTypeID
        let _: () -> CFTypeID = CFStringGetTypeID
    }
}
