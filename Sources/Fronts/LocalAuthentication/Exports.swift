// On Apple's systems `import LocalAuthentication` imports both.
@_exported public import Foundation
@_exported public import Security
