internal import CoreMetrics
internal import Synchronization

/// The value of one counter.
final class CounterCell: CounterHandler, Sendable {
    private let count = Atomic<Int64>(0)

    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { count.store(0, ordering: .relaxed) }
    var value: Int64 { count.load(ordering: .relaxed) }
}

/// The value of one gauge.
final class GaugeCell: MeterHandler, RecorderHandler, Sendable {
    private let number = Mutex(0.0)

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { number.withLock { $0 = value } }
    func increment(by amount: Double) { number.withLock { $0 += amount } }
    func decrement(by amount: Double) { number.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    var value: Double { number.withLock { $0 } }
}

/// The values of one histogram, with the bounds of ``PrometheusRegistry/buckets``.
final class HistogramCell: TimerHandler, RecorderHandler, Sendable {
    private struct State {
        var counts = [Int](repeating: 0, count: PrometheusRegistry.buckets.count + 1)
        var sum = 0.0
    }
    private let state = Mutex(State())

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) {
        let index = PrometheusRegistry.buckets.firstIndex { value <= $0 } ?? PrometheusRegistry.buckets.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    /// The number of values in each bucket, the last one unbounded; and the sum of all values.
    var values: (counts: [Int], sum: Double) { state.withLock { ($0.counts, $0.sum) } }
}
