import Glibc

/// This process, as `status` reports it.
enum DaemonProcess {
    /// Its process id.
    static var number: Int64 { Int64(getpid()) }
}
