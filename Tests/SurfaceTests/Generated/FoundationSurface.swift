// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import Foundation
import Security
import Testing

@Suite("The surface of Foundation, as keychain code uses it")
struct FoundationSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        let _: (Unmanaged<CFError>) -> CFError = { $0.takeRetainedValue() }
        let _: (Unmanaged<CFError>) -> any Error = { $0.takeUnretainedValue() as Error }
        let _: OSStatus.Type = Int32.self
        let _: OSStatus = noErr
        let _: (inout NSError?, (NSErrorPointer) -> Void) -> Void = { $1(&$0) }
        let _: NSErrorPointer = nil
        #expect(NSOSStatusErrorDomain == "NSOSStatusErrorDomain")
        let _: (NSMutableDictionary) -> (Any?, String) -> Void = NSMutableDictionary.setValue(_:forKey:)
        #expect(autoreleasepool(invoking: { 7 }) == 7)
        let _: () -> NSMapTable<NSString, NSObject> = { .strongToWeakObjects() }
        let _: (CFString) -> String = { String($0) }
        let _: (CFString) -> String = { $0 as String }
        let _: (String) -> CFString = { $0 as CFString }
        let _: ([String: Any]) -> CFDictionary = { $0 as CFDictionary }
        let _: ([CFString: Any]) -> CFDictionary = { $0 as CFDictionary }
        let _: ([String: AnyHashable]) -> CFDictionary = { $0 as CFDictionary }
        let _: (NSDictionary) -> CFDictionary = { $0 }
        let _: (AnyObject) -> [String: Any]? = { $0 as? [String: Any] }
        // implicit re-export of Security and CoreFoundation by `import Foundation`: left out; an option of the compiler.
    }
}
