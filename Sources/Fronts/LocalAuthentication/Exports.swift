// On Apple's systems `import LocalAuthentication` brings both.
@_exported public import Foundation
@_exported public import Security
