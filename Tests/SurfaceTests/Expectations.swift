import Foundation
import Security
import Testing

// What the lines of `Generated` are made of. Those that check nothing when they run check something when they
// are compiled.

/// A constant that is a string, and its value.
func expect(_ constant: CFString, _ value: String, at location: SourceLocation = #_sourceLocation) {
    #expect(constant as String == value, sourceLocation: location)
}

/// A status, and its number.
func expect(_ status: OSStatus, _ number: Int, at location: SourceLocation = #_sourceLocation) {
    #expect(Int(status) == number, sourceLocation: location)
}

/// A class whose objects go where Objective-C's would.
func isClass<Class: NSObject>(_: Class.Type) {}

/// A type with raw values of this type.
func isRawRepresentable<Type: RawRepresentable>(_: Type.Type, by: Type.RawValue.Type) {}

/// An option set with raw values of this type.
func isOptionSet<Type: OptionSet>(_: Type.Type, of: Type.RawValue.Type) {}
