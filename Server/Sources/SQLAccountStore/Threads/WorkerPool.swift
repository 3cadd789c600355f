package import AccountStore
internal import Dispatch
internal import Synchronization

/// Workers that may block, each on its own thread and with one job at a time; a bounded number of jobs waits for them.
package final class WorkerPool<Worker: Sendable>: Sendable {
    private struct State {
        var idle: [Int]
        var waiting: [@Sendable (Worker) -> Void] = []
        /// How many jobs at the front of ``waiting`` were started already.
        var taken = 0
        var isClosed = false
        var whenIdle: [CheckedContinuation<Void, Never>] = []
    }

    private let workers: [Worker]
    private let queues: [DispatchQueue]
    private let state: Mutex<State>
    private let deadlines: Deadlines
    private let most: Int

    /// Creates a pool; jobs beyond the maximum number waiting are refused.
    package init(_ workers: [Worker], label: String, deadlines: Deadlines, waiting most: Int) {
        self.workers = workers
        queues = workers.indices.map { DispatchQueue(label: "\(label) \($0)") }
        state = Mutex(State(idle: Array(workers.indices)))
        self.deadlines = deadlines
        self.most = most
    }

    /// The number of jobs waiting or running.
    package var depth: Int {
        state.withLock { $0.waiting.count - $0.taken + workers.count - $0.idle.count }
    }

    /// Runs a job on the next free worker.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable (Worker) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await deadlines.ask { answer in
            begin { worker in
                // The caller has timed out: the job must not happen either.
                guard !answer.isOver else { return }
                do throws(StoreError) {
                    answer.give(.success(try body(worker)))
                } catch {
                    answer.give(.failure(error))
                }
            } orRefuse: {
                answer.give(.failure($0))
            }
        }
    }

    private func begin(
        _ job: @escaping @Sendable (Worker) -> Void,
        orRefuse refuse: (StoreError) -> Void
    ) {
        let verdict: Result<Int?, StoreError> = state.withLock { state in
            if state.isClosed { return .failure(StoreError(.unavailable, cause: "the store is closed")) }
            if let worker = state.idle.popLast() { return .success(worker) }
            guard state.waiting.count - state.taken < most else {
                return .failure(StoreError(.overloaded, cause: "\(most) requests wait"))
            }
            state.waiting.append(job)
            return .success(nil)
        }
        switch verdict {
        case .success(let worker?): start(worker, job)
        case .success(nil): break
        case .failure(let error): refuse(error)
        }
    }

    private func start(_ index: Int, _ first: @escaping @Sendable (Worker) -> Void) {
        queues[index].async { [self] in
            var job: (@Sendable (Worker) -> Void)? = first
            while let next = job {
                next(workers[index])
                job = self.next(after: index)
            }
        }
    }

    private func next(after index: Int) -> (@Sendable (Worker) -> Void)? {
        let (job, awaited) = state.withLock {
            state -> ((@Sendable (Worker) -> Void)?, [CheckedContinuation<Void, Never>]) in
            guard state.taken < state.waiting.count else {
                state.waiting = []
                state.taken = 0
                state.idle.append(index)
                guard state.isClosed, state.idle.count == workers.count else { return (nil, []) }
                defer { state.whenIdle = [] }
                return (nil, state.whenIdle)
            }
            let job = state.waiting[state.taken]
            state.taken += 1
            // The started jobs are removed once they are most of the array.
            if state.taken > 64, state.taken * 2 > state.waiting.count {
                state.waiting.removeFirst(state.taken)
                state.taken = 0
            }
            return (job, [])
        }
        for continuation in awaited { continuation.resume() }
        return job
    }

    /// Refuses new jobs, waits until the workers are idle, and ends each with `end`.
    package func close(_ end: (Worker) -> Void = { _ in }) async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosed = true
                let isIdle = state.idle.count == workers.count
                if !isIdle { state.whenIdle.append(continuation) }
                return isIdle
            }
            if isIdle { continuation.resume() }
        }
        for worker in workers { end(worker) }
    }
}
