import Foundation
import Security
import Testing

@Suite("NSMapTable as used by keychain wrappers")
struct MapTableTests {
    @Test("equal keys are one key, and nil removes it")
    func equalKeys() {
        let table = NSMapTable<NSString, NSNumber>.strongToStrongObjects()
        table.setObject(1, forKey: NSString(string: "valet"))
        table.setObject(2, forKey: NSString(string: "valet"))
        #expect(table.count == 1)
        #expect(table.object(forKey: NSString(string: "valet")) == 2)
        #expect(table.object(forKey: NSString(string: "other")) == nil)
        table.setObject(nil, forKey: NSString(string: "valet"))
        #expect(table.count == 0)
    }

    @Test("a weakly held object disappears once it is released")
    func weakObjects() {
        let table = NSMapTable<NSString, NSObject>.strongToWeakObjects()
        let key = NSString(string: "shared")
        var object: NSObject? = NSObject()
        table.setObject(object, forKey: key)
        #expect(table.object(forKey: key) === object)
        object = nil
        #expect(table.object(forKey: key) == nil)
        #expect(table.count == 0)
    }
}
