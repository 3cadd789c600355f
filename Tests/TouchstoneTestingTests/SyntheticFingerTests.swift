import Testing
import TouchstoneTesting

@Suite("Synthetic fingers")
struct SyntheticFingerTests {
    @Test("the same finger and touch give the same image, other numbers another one")
    func determinism() {
        let finger = SyntheticFinger(3)
        #expect(finger.impression(1) == SyntheticFinger(3).impression(1))
        #expect(finger.impression(1) != finger.impression(2))
        #expect(finger.impression(1) != SyntheticFinger(7).impression(1))
    }

    @Test("an image has dark ridges inside and a clean background in the corners")
    func picture() {
        let picture = SyntheticFinger(3).impression(0)
        #expect(picture.pixels.count == picture.width * picture.height)
        #expect(picture.pixels[0] == 255)
        #expect(picture.pixels[picture.pixels.count - 1] == 255)
        let middle = picture.pixels[(picture.height / 2 * picture.width)...].prefix(picture.width)
        #expect(middle.contains { $0 < 64 } && middle.contains { $0 > 192 })
    }
}
