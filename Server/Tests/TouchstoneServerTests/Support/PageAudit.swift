import Foundation
import Testing
import WebAuthnModel

/// Accessibility checks of a page: names, contrast, reflow.
enum PageAudit {
    private static let controls: Set<String> = [
        "button", "link", "textbox", "checkbox", "radio", "combobox", "dialog", "alertdialog",
        "DisclosureTriangle",
        "region", "image",
    ]

    /// The controls of the page as assistive technology sees them, as `role name`; each must have a role and a name.
    static func names(_ page: Browser, sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> [String]
    {
        let tree = try await page.send("Accessibility.getFullAXTree")["nodes"]?.array ?? []
        var names: [String] = []
        for node in tree where node["ignored"] != true {
            let role = node["role"]?["value"]?.string ?? ""
            let name = node["name"]?["value"]?.string ?? ""
            let isFocusable = (node["properties"]?.array ?? []).contains {
                $0["name"] == "focusable" && $0["value"]?["value"] == true
            }
            guard controls.contains(role) || isFocusable, !["RootWebArea", "main"].contains(role) else {
                continue
            }
            #expect(
                !role.isEmpty && role != "generic" && !name.isEmpty,
                "\(node.text)",
                sourceLocation: sourceLocation
            )
            names.append("\(role) \(name)")
        }
        // Two buttons of the same name cannot be told apart.
        let buttons = names.filter { $0.hasPrefix("button ") }
        #expect(Set(buttons).count == buttons.count, "\(buttons)", sourceLocation: sourceLocation)
        return names
    }

    /// The visible texts and control edges whose contrast is too low (WCAG 2.2, 1.4.3 and 1.4.11).
    static func contrastFaults(_ page: Browser) async throws -> [String] {
        try await page.value(
            """
            (() => {
                const channels = (color) => {
                    const [r, g, b, a = 1] = color.match(/[0-9.]+/g).map(Number);
                    return [r, g, b, a];
                };
                const over = ([r, g, b, a], [R, G, B]) =>
                    [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
                const ground = (element) => {
                    let layers = [];
                    for (let one = element; one; one = one.parentElement) {
                        const color = channels(getComputedStyle(one).backgroundColor);
                        layers.push(color);
                        if (color[3] === 1) break;
                        if (one.matches("dialog")) break;
                    }
                    return layers.reverse().reduce((below, color) => over(color, below), [255, 255, 255, 1]);
                };
                const luminance = ([r, g, b]) => {
                    const [x, y, z] = [r, g, b].map((value) => {
                        const part = value / 255;
                        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
                    });
                    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
                };
                const ratio = (one, other) => {
                    const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x);
                    return (a + 0.05) / (b + 0.05);
                };
                const faults = [];
                const dialog = document.querySelector("dialog[open]");
                for (const element of (dialog ?? document.body).querySelectorAll("*")) {
                    if (!element.checkVisibility({ visibilityProperty: true })) continue;
                    if (element.closest(".unseen, svg")) continue;
                    const style = getComputedStyle(element);
                    const behind = ground(element);
                    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
                    if (text || element.matches("input")) {
                        const value = ratio(over(channels(style.color), behind), behind);
                        if (value < 4.5) faults.push(`${value.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
                    }
                    if (element.matches("input, .button:not(.quiet):not(.primary):not(.danger)")) {
                        const value = ratio(channels(style.borderTopColor), ground(element.parentElement));
                        if (value < 3) faults.push(`edge ${value.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
                    }
                }
                return faults;
            })()
            """
        ).array?.compactMap(\.string) ?? ["no answer"]
    }

    /// Saves a screenshot if requested: `TOUCHSTONE_SCREENSHOTS=/tmp/page-`.
    static func picture(_ page: Browser, _ name: String) async throws {
        guard let prefix = ProcessInfo.processInfo.environment["TOUCHSTONE_SCREENSHOTS"] else { return }
        let data = try await page.send("Page.captureScreenshot", ["captureBeyondViewport": true])["data"]
        try Data(base64Encoded: data?.string ?? "")?.write(to: URL(filePath: "\(prefix)\(name).png"))
    }

    /// The elements that overflow the window's width, so that it would have to be scrolled sideways.
    static func overflow(_ page: Browser, width: Int64, fontSize: String = "") async throws -> [String] {
        try await page.send(
            "Emulation.setDeviceMetricsOverride",
            ["width": .integer(width), "height": 700, "deviceScaleFactor": 1, "mobile": false]
        )
        try await page.wait("innerWidth === \(width)")
        try await page.value("document.documentElement.style.fontSize = '\(fontSize)'")
        return try await page.value(
            """
            (() => {
                const faults = document.scrollingElement.scrollWidth > innerWidth ? ["the page"] : [];
                const top = document.querySelector("dialog[open]") ?? document.body;
                for (const element of top.querySelectorAll("*")) {
                    if (!element.checkVisibility() || element.closest(".unseen, .skip, .canonical")) continue;
                    const box = element.getBoundingClientRect();
                    if (box.right > innerWidth + 1 || box.left < -1) faults.push(element.outerHTML.slice(0, 80));
                }
                return faults;
            })()
            """
        ).array?.compactMap(\.string) ?? ["no answer"]
    }
}
