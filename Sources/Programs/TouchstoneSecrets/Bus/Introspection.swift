/// What `org.freedesktop.DBus.Introspectable.Introspect` answers.
enum Introspection {
    private static let standard = """
         <interface name="org.freedesktop.DBus.Introspectable">
          <method name="Introspect"><arg name="data" direction="out" type="s"/></method>
         </interface>
         <interface name="org.freedesktop.DBus.Peer">
          <method name="Ping"/>
          <method name="GetMachineId"><arg name="machine_uuid" direction="out" type="s"/></method>
         </interface>

        """
    private static let properties = """
         <interface name="org.freedesktop.DBus.Properties">
          <method name="Get"><arg name="interface" direction="in" type="s"/><arg name="property" direction="in" type="s"/>\
        <arg name="value" direction="out" type="v"/></method>
          <method name="Set"><arg name="interface" direction="in" type="s"/><arg name="property" direction="in" type="s"/>\
        <arg name="value" direction="in" type="v"/></method>
          <method name="GetAll"><arg name="interface" direction="in" type="s"/>\
        <arg name="properties" direction="out" type="a{sv}"/></method>
          <signal name="PropertiesChanged"><arg name="interface" type="s"/><arg name="changed" type="a{sv}"/>\
        <arg name="invalidated" type="as"/></signal>
         </interface>

        """
    private static let service = """
         <interface name="org.freedesktop.Secret.Service">
          <property name="Collections" type="ao" access="read"/>
          <method name="OpenSession"><arg name="algorithm" direction="in" type="s"/><arg name="input" direction="in" type="v"/>\
        <arg name="output" direction="out" type="v"/><arg name="result" direction="out" type="o"/></method>
          <method name="CreateCollection"><arg name="properties" direction="in" type="a{sv}"/>\
        <arg name="alias" direction="in" type="s"/><arg name="collection" direction="out" type="o"/>\
        <arg name="prompt" direction="out" type="o"/></method>
          <method name="SearchItems"><arg name="attributes" direction="in" type="a{ss}"/>\
        <arg name="unlocked" direction="out" type="ao"/><arg name="locked" direction="out" type="ao"/></method>
          <method name="Unlock"><arg name="objects" direction="in" type="ao"/><arg name="unlocked" direction="out" type="ao"/>\
        <arg name="prompt" direction="out" type="o"/></method>
          <method name="Lock"><arg name="objects" direction="in" type="ao"/><arg name="locked" direction="out" type="ao"/>\
        <arg name="prompt" direction="out" type="o"/></method>
          <method name="GetSecrets"><arg name="items" direction="in" type="ao"/><arg name="session" direction="in" type="o"/>\
        <arg name="secrets" direction="out" type="a{o(oayays)}"/></method>
          <method name="ReadAlias"><arg name="name" direction="in" type="s"/>\
        <arg name="collection" direction="out" type="o"/></method>
          <method name="SetAlias"><arg name="name" direction="in" type="s"/>\
        <arg name="collection" direction="in" type="o"/></method>
          <signal name="CollectionCreated"><arg name="collection" type="o"/></signal>
          <signal name="CollectionDeleted"><arg name="collection" type="o"/></signal>
          <signal name="CollectionChanged"><arg name="collection" type="o"/></signal>
         </interface>

        """
    private static let leases = """
         <interface name="touchstone.Leases">
          <method name="List"><arg name="leases" direction="out" type="a(tussuu)"/></method>
          <method name="End"><arg name="number" direction="in" type="t"/><arg name="ended" direction="out" type="u"/></method>
          <method name="Refresh"/>
         </interface>

        """
    private static let collection = """
         <interface name="org.freedesktop.Secret.Collection">
          <property name="Items" type="ao" access="read"/>
          <property name="Label" type="s" access="readwrite"/>
          <property name="Locked" type="b" access="read"/>
          <property name="Created" type="t" access="read"/>
          <property name="Modified" type="t" access="read"/>
          <method name="Delete"><arg name="prompt" direction="out" type="o"/></method>
          <method name="SearchItems"><arg name="attributes" direction="in" type="a{ss}"/>\
        <arg name="results" direction="out" type="ao"/></method>
          <method name="CreateItem"><arg name="properties" direction="in" type="a{sv}"/>\
        <arg name="secret" direction="in" type="(oayays)"/><arg name="replace" direction="in" type="b"/>\
        <arg name="item" direction="out" type="o"/><arg name="prompt" direction="out" type="o"/></method>
          <signal name="ItemCreated"><arg name="item" type="o"/></signal>
          <signal name="ItemDeleted"><arg name="item" type="o"/></signal>
          <signal name="ItemChanged"><arg name="item" type="o"/></signal>
         </interface>

        """
    private static let item = """
         <interface name="org.freedesktop.Secret.Item">
          <property name="Locked" type="b" access="read"/>
          <property name="Attributes" type="a{ss}" access="readwrite"/>
          <property name="Label" type="s" access="readwrite"/>
          <property name="Created" type="t" access="read"/>
          <property name="Modified" type="t" access="read"/>
          <method name="Delete"><arg name="prompt" direction="out" type="o"/></method>
          <method name="GetSecret"><arg name="session" direction="in" type="o"/>\
        <arg name="secret" direction="out" type="(oayays)"/></method>
          <method name="SetSecret"><arg name="secret" direction="in" type="(oayays)"/></method>
         </interface>

        """
    private static let session = """
         <interface name="org.freedesktop.Secret.Session">
          <method name="Close"/>
         </interface>

        """
    private static let prompt = """
         <interface name="org.freedesktop.Secret.Prompt">
          <method name="Prompt"><arg name="window-id" direction="in" type="s"/></method>
          <method name="Dismiss"/>
          <signal name="Completed"><arg name="dismissed" type="b"/><arg name="result" type="v"/></signal>
         </interface>

        """

    /// Describes the object of the portal.
    static var portalDocument: String {
        header + standard + properties + """
             <interface name="org.freedesktop.impl.portal.Secret">
              <property name="version" type="u" access="read"/>
              <method name="RetrieveSecret"><arg name="handle" direction="in" type="o"/>\
            <arg name="app_id" direction="in" type="s"/><arg name="fd" direction="in" type="h"/>\
            <arg name="options" direction="in" type="a{sv}"/><arg name="response" direction="out" type="u"/>\
            <arg name="results" direction="out" type="a{sv}"/></method>
             </interface>
            </node>

            """
    }

    private static let header = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN" \
        "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>

        """

    /// Describes an object, or a node above the objects, with its children.
    static func document(of object: SecretObject?, children: [String]) -> String {
        let interfaces =
            switch object {
            case nil: standard
            case .service?: standard + properties + service + leases
            case .collection?, .alias?: standard + properties + collection
            case .item?: standard + properties + item
            case .session?: standard + session
            case .prompt?: standard + prompt
            }
        let nodes = children.map { " <node name=\"\($0)\"/>\n" }.joined()
        return header + interfaces + nodes + "</node>\n"
    }
}
