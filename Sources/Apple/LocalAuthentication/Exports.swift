@_exported import LocalAuthentication
