public import CoreMetrics
internal import Synchronization

/// Collects the metrics of swift-metrics, and writes them in Prometheus's text format (version 0.0.4).
///
/// Counters and gauges keep their names; timers become histograms in seconds with the buckets of ``buckets``.
public final class PrometheusRegistry: MetricsFactory, Sendable {
    /// The upper bounds of a histogram, in seconds.
    static let buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// The maximum number of series (names with labels); further ones are not counted, so that memory stays bounded.
    static let mostSeries = 10_000

    struct Key: Hashable, Sendable, Comparable {
        let name: String
        let labels: [Label]

        struct Label: Hashable, Sendable {
            let name: String
            let value: String
        }

        static func < (one: Key, other: Key) -> Bool {
            (one.name, one.labels.map { "\($0.name)=\($0.value)" }.joined(separator: ","))
                < (other.name, other.labels.map { "\($0.name)=\($0.value)" }.joined(separator: ","))
        }
    }

    private struct State {
        var counters: [Key: CounterCell] = [:]
        var gauges: [Key: GaugeCell] = [:]
        var histograms: [Key: HistogramCell] = [:]
        var help: [String: String] = [:]
    }

    private let state = Mutex(State())

    /// Creates an empty registry.
    public init() {}

    /// Sets the `# HELP` text of a metric.
    func describe(_ name: String, _ help: String) { state.withLock { $0.help[name] = help } }

    // MARK: MetricsFactory

    /// Returns the counter for a label, creating it if necessary.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let key = Self.key(label, dimensions)
        return state.withLock { state in
            if let cell = state.counters[key] { return cell }
            let cell = CounterCell()
            if state.counters.count < Self.mostSeries { state.counters[key] = cell }
            return cell
        }
    }

    /// Returns a gauge, or a histogram if the recorder aggregates.
    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        let key = Self.key(label, dimensions)
        return aggregate ? histogram(key) : gauge(key)
    }

    /// Returns a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(Self.key(label, dimensions))
    }

    /// Returns a histogram in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(Self.key(label, dimensions))
    }

    /// Handlers live as long as the registry.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Handlers live as long as the registry.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Handlers live as long as the registry.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Handlers live as long as the registry.
    public func destroyTimer(_ handler: any TimerHandler) {}

    private func gauge(_ key: Key) -> GaugeCell {
        state.withLock { state in
            if let cell = state.gauges[key] { return cell }
            let cell = GaugeCell()
            if state.gauges.count < Self.mostSeries { state.gauges[key] = cell }
            return cell
        }
    }

    private func histogram(_ key: Key) -> HistogramCell {
        state.withLock { state in
            if let cell = state.histograms[key] { return cell }
            let cell = HistogramCell()
            if state.histograms.count < Self.mostSeries { state.histograms[key] = cell }
            return cell
        }
    }

    private static func key(_ label: String, _ dimensions: [(String, String)]) -> Key {
        Key(
            name: name(label),
            labels: dimensions.map { Key.Label(name: name($0.0), value: $0.1) }
        )
    }

    /// Replaces all but letters and digits by `_`; other libraries use dots.
    private static func name(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber == true ? "_\(name)" : name
    }

    // MARK: Text

    /// The text of all metrics, in the order of their names.
    public func text() -> String {
        let (counters, gauges, histograms, help) = state.withLock {
            ($0.counters, $0.gauges, $0.histograms, $0.help)
        }
        var lines: [String] = []
        var last = ""
        func head(_ key: Key, _ type: String) {
            guard key.name != last else { return }
            last = key.name
            if let text = help[key.name] { lines.append("# HELP \(key.name) \(text)") }
            lines.append("# TYPE \(key.name) \(type)")
        }
        for (key, cell) in counters.sorted(by: { $0.key < $1.key }) {
            head(key, "counter")
            lines.append("\(key.name)\(Self.labels(key.labels)) \(cell.value)")
        }
        for (key, cell) in gauges.sorted(by: { $0.key < $1.key }) {
            head(key, "gauge")
            lines.append("\(key.name)\(Self.labels(key.labels)) \(Self.number(cell.value))")
        }
        for (key, cell) in histograms.sorted(by: { $0.key < $1.key }) {
            head(key, "histogram")
            let (counts, sum) = cell.values
            var total = 0
            for (index, count) in counts.enumerated() {
                total += count
                let bound = index < Self.buckets.count ? Self.number(Self.buckets[index]) : "+Inf"
                let labels = key.labels + [Key.Label(name: "le", value: bound)]
                lines.append("\(key.name)_bucket\(Self.labels(labels)) \(total)")
            }
            lines.append("\(key.name)_sum\(Self.labels(key.labels)) \(Self.number(sum))")
            lines.append("\(key.name)_count\(Self.labels(key.labels)) \(total)")
        }
        return lines.map { "\($0)\n" }.joined()
    }

    private static func labels(_ labels: [Key.Label]) -> String {
        guard !labels.isEmpty else { return "" }
        let texts = labels.map { label in
            let value = label.value.replacing(#"\"#, with: #"\\"#).replacing("\"", with: #"\""#)
                .replacing("\n", with: #"\n"#)
            return "\(label.name)=\"\(value)\""
        }
        return "{\(texts.joined(separator: ","))}"
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}
