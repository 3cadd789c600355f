/// Reads the state of a user's enrolled templates: directly from fprintd's files if permitted, else through the
/// broker.
public protocol TemplateReader: Sendable {
    /// Reads the templates now.
    ///
    /// - Parameter expectingSome: whether fprintd reports enrolled fingers.
    /// - Returns: the state of the templates.
    func templates(expectingSome: Bool) async -> Enrolment.Templates
}
