// On Apple's systems `import Security` brings both.
@_exported public import CoreFoundation
@_exported public import Foundation
