import CBOR
import SecretMemory
import Testing

@testable import KeychainModel

@Suite("Messages about moving a keychain")
struct MigrationMessageTests {
    private func octets<Body: WireBody>(_ body: Body) -> SecretBuffer {
        var writer = WireWriter(SecretBuffer())
        body.encode(to: &writer)
        return writer.finish()
    }

    private func roundTrip<Body: WireBody>(_ body: Body) throws -> Body {
        try octets(body).withOctets { octets in
            try CBORReader.read(octets, limits: Frame.limits) { reader in try Body(from: &reader) }
        }
    }

    private var report: ExportReport {
        var report = ExportReport(items: 70_000, isSetAuthentic: false)
        for reason in ExportReport.Reason.allCases {
            report.leaveOut(
                reason,
                named: ExportReport.LeftOut(reason: reason, group: "g", name: "é \(reason)")
            )
        }
        report.leaveOut(.damaged)
        return report
    }

    @Test("parts and the final report round-trip")
    func parts() throws {
        let part = ExportPart(total: 1 << 30, octets: [1, 2, 3])
        #expect(try roundTrip(part) == part)
        let end = ExportPart(total: 3, report: report)
        #expect(try roundTrip(end) == end)
        #expect(end.report?.leftOut[.damaged] == 2)
        let sent = ImportPart(offset: 5, octets: [UInt8](repeating: 7, count: MigrationLimits.partOctets))
        #expect(try roundTrip(sent) == sent)
    }

    @Test("parts that are too large, or at too high an offset, are refused")
    func limits() throws {
        let more = [UInt8](repeating: 7, count: MigrationLimits.partOctets + 1)
        #expect(throws: KeychainError(.dataTooLarge)) { try roundTrip(ImportPart(offset: 0, octets: more)) }
        let far = ImportPart(offset: MigrationLimits.mostOctets + 1, octets: [])
        #expect(throws: KeychainError(.dataTooLarge)) { try roundTrip(far) }
        #expect(throws: WireError.malformed) {
            try roundTrip(ExportPart(total: MigrationLimits.mostOctets + 1, octets: []))
        }
    }

    @Test("a report fits into a frame, whatever the number and names of skipped items")
    func largestReport() throws {
        var report = ExportReport()
        let long = String(repeating: "ä", count: 1000)
        for _ in 0..<2000 {
            let item = ExportReport.LeftOut(reason: .thisDeviceOnly, group: long, name: long)
            report.leaveOut(.thisDeviceOnly, named: item)
        }
        #expect(report.names.count == ExportReport.mostNames && report.leftOut[.thisDeviceOnly] == 2000)
        #expect(report.names.allSatisfy { $0.name.utf8.count <= ExportReport.LeftOut.longestName })
        #expect(octets(ExportPart(total: 1, report: report)).count < Frame.longest / 2)
    }
}
