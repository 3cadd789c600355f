import KeychainModel
import MessageBus

/// Verifying on a claim, and releasing it.
extension FprintReader {
    func verify(
        _ number: UInt64,
        status: @escaping @Sendable (FingerprintStatus) -> Void
    ) async throws(FingerprintError) -> FingerprintVerdict {
        guard let claim = claims[number], claim.releasing == nil else {
            throw FingerprintError(.claimDevice)
        }
        guard !isAsleep else { throw FingerprintError(.suspended) }
        guard claim.run == nil else { throw FingerprintError(.alreadyInUse) }
        let run = VerifyRun(device: claim.device, status: status)
        claim.run = run
        do throws(FingerprintError) {
            let verdict = try await onThread { () async throws(FingerprintError) in
                await claim.untilDisarmed()
                return try await self.verify(claim.fingers, run)
            }
            claim.ended()
            return verdict
        } catch {
            claim.ended()
            await release(number)
            // Our reason for stopping it is more precise than the error that followed.
            if let abortion = run.abortion { throw abortion }
            // fprintd has no error for an unplugged sensor; its object disappears.
            if error.code == .unknownError, (try? await claim.device.name()) == nil {
                throw FingerprintError(.disconnected)
            }
            throw error
        }
    }

    private func verify(
        _ fingers: [String],
        _ run: VerifyRun
    ) async throws(FingerprintError) -> FingerprintVerdict {
        // A driver without templates reports `verify-no-match`: "nothing enrolled" must not look like that.
        guard !fingers.isEmpty else { throw FingerprintError(.noEnrolledPrints) }
        let first = try await pass(Fprint.anyFinger, run)
        guard first == .noMatch, fingers.count > 1, let compared = run.selectedFinger,
            compared != Fprint.anyFinger
        else { return first }
        // "any" meant one finger: this sensor cannot identify, and the other fingers have not been compared.
        for finger in fingers where finger != compared {
            run.want(finger)
            do throws(FingerprintError) {
                guard try await pass(finger, run) == .noMatch else { return .match }
            } catch {
                // A cancellation now comes after one finger already did not match.
                guard error == FingerprintError(.cancelled) else { throw error }
                return .noMatch
            }
        }
        return .noMatch
    }

    /// Runs one `VerifyStart` with its `VerifyStop`, on every path.
    private func pass(_ finger: String, _ run: VerifyRun) async throws(FingerprintError) -> FingerprintVerdict
    {
        guard !Task.isCancelled else { throw FingerprintError(.cancelled) }
        let identity = ObjectIdentifier(run)
        let outcome = await withTaskCancellationHandler {
            await self.start(run, finger)
        } onCancel: {
            Task { await self.cancel(identity) }
        }
        guard let claim = claims.values.first(where: { $0.run === run }) else { return try outcome.get() }
        guard !isAsleep else {
            claim.isLeftArmed = true
            return try run.isGivenUp ? run.stopped(FingerprintError(.suspended)) : outcome.get()
        }
        guard !run.isGivenUp else { return try await lastWord(of: run, claim) }
        claim.disarming = run.device.beginVerifyStop()
        // After a match only the next user of the sensor waits for the reply.
        if outcome != .success(.match) { await claim.untilDisarmed() }
        return try outcome.get()
    }

    /// Stops a verification that the caller cancelled, and returns the verdict reached before the stop.
    private func lastWord(
        of run: VerifyRun,
        _ claim: ClaimedSensor
    ) async throws(FingerprintError) -> FingerprintVerdict {
        let stop = run.beginStop()
        claim.disarming = stop
        var failure: FingerprintError?
        do throws(BusError) {
            _ = try await stop.reply()
        } catch {
            failure = FingerprintError(error)
        }
        return try run.stopped(failure)
    }

    /// A separate method: a closure that does not use `self` would run on any thread.
    private func start(_ run: VerifyRun, _ finger: String) async -> VerifyRun.Outcome {
        await run.start(finger)
    }

    private func cancel(_ run: ObjectIdentifier) {
        for claim in claims.values {
            guard let current = claim.run, ObjectIdentifier(current) == run else { continue }
            current.abort(FingerprintError(.cancelled))
        }
    }

    /// Releases a claim and waits for that; while the machine sleeps, the release follows after the wake-up.
    func release(_ number: UInt64) async { await beginRelease(number)?.value }

    /// Starts to release a claim, unless the machine sleeps.
    @discardableResult
    func beginRelease(_ number: UInt64) -> Task<Void, Never>? {
        guard let claim = claims[number], !isAsleep else { return nil }
        if let releasing = claim.releasing { return releasing }
        // A separate task: cancelling the caller must not leave the sensor claimed.
        let releasing = Task { await self.letGo(number) }
        claim.releasing = releasing
        return releasing
    }

    private func letGo(_ number: UInt64) async {
        guard let claim = claims[number] else { return }
        claim.run?.abort(FingerprintError(.cancelled))
        await claim.untilEnded()
        if claim.isLeftArmed, !isAsleep {
            claim.isLeftArmed = false
            claim.disarming = claim.device.beginVerifyStop()
        }
        await claim.untilDisarmed()
        guard !isAsleep else {
            claim.releasing = nil
            return
        }
        do throws(FingerprintError) {
            try await claim.device.release()
        } catch {
            // fprintd hangs: closing the connection releases the claim.
            if error.code == .noReply { connection?.close() }
        }
        claims[number] = nil
    }
}
