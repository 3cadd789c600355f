import Glibc
import TPMDriver
import Testing

@Suite("The library context of OpenSSL")
struct LibraryContextTests {
    @Test("is one for all of tpm2-tss, which asks for a new one each time")
    func isKept() throws {
        typealias New = @convention(c) () -> OpaquePointer?
        typealias Free = @convention(c) (OpaquePointer?) -> Void
        // As the dynamic linker finds them for a library.
        let new = unsafeBitCast(try #require(dlsym(nil, "OSSL_LIB_CTX_new")), to: New.self)
        let free = unsafeBitCast(try #require(dlsym(nil, "OSSL_LIB_CTX_free")), to: Free.self)
        let context = try #require(new())
        free(context)
        #expect(new() == context)
    }
}
