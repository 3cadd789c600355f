// On Apple's systems `import Security` imports both.
@_exported public import CoreFoundation
@_exported public import Foundation
