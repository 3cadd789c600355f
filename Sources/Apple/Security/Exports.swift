@_exported import Security
