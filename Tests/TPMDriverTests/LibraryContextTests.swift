import Glibc
import TPMDriver
import Testing

@Suite("OpenSSL's library context")
struct LibraryContextTests {
    @Test("all of tpm2-tss shares one library context, though it requests a new one each time")
    func isKept() throws {
        typealias New = @convention(c) () -> OpaquePointer?
        typealias Free = @convention(c) (OpaquePointer?) -> Void
        // Resolved as the dynamic linker does for a library.
        let new = unsafeBitCast(try #require(dlsym(nil, "OSSL_LIB_CTX_new")), to: New.self)
        let free = unsafeBitCast(try #require(dlsym(nil, "OSSL_LIB_CTX_free")), to: Free.self)
        let context = try #require(new())
        free(context)
        #expect(new() == context)
    }
}
