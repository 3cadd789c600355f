/// Small exports, written by hand in the structure that each program's current version writes.
///
/// All secrets are made up.
enum ImportSamples {
    /// KeePassXC 2.7.10, "Export to XML" (KeePass2 XML payload, KDBX 4): a group in a group, custom fields, a one-time key, an attachment,
    /// an earlier version, a recycle bin, entities and CDATA.
    static let keepassxc = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <KeePassFile>
        \t<Meta>
        \t\t<Generator>KeePassXC</Generator>
        \t\t<DatabaseName>Passwords</DatabaseName>
        \t\t<MemoryProtection><ProtectPassword>True</ProtectPassword></MemoryProtection>
        \t\t<RecycleBinEnabled>True</RecycleBinEnabled>
        \t\t<RecycleBinUUID>q83vEjRWeJCrze8SNFZ4kA==</RecycleBinUUID>
        \t\t<Binaries><Binary ID="0" Compressed="True">H4sIAAAAAAAAAwMAAAAAAAAAAAA=</Binary></Binaries>
        \t</Meta>
        \t<Root>
        \t\t<Group>
        \t\t\t<UUID>AAECAwQFBgcICQoLDA0ODw==</UUID><Name>Root</Name><Notes/>
        \t\t\t<Entry>
        \t\t\t\t<UUID>EBESExQVFhcYGRobHB0eHw==</UUID><Tags/>
        \t\t\t\t<String><Key>Notes</Key><Value>first line
        user: not the user</Value></String>
        \t\t\t\t<String><Key>Password</Key><Value ProtectInMemory="True">a&lt;b&amp;&#x20AC;&quot;</Value></String>
        \t\t\t\t<String><Key>Title</Key><Value>Bank</Value></String>
        \t\t\t\t<String><Key>URL</Key><Value>https://bank.example</Value></String>
        \t\t\t\t<String><Key>UserName</Key><Value>me</Value></String>
        \t\t\t\t<String><Key>PIN: card</Key><Value ProtectInMemory="True">1234</Value></String>
        \t\t\t\t<String><Key>Key</Key><Value>-----BEGIN-----
        Proc-Type: 4
        -----END-----</Value></String>
        \t\t\t\t<String><Key>otp</Key><Value ProtectInMemory="True">\
        otpauth://totp/Bank:me?secret=JBSWY3DPEHPK3PXP&amp;period=30&amp;digits=6&amp;issuer=Bank</Value></String>
        \t\t\t\t<Binary><Key>scan.pdf</Key><Value Ref="0"/></Binary>
        \t\t\t\t<AutoType><Enabled>True</Enabled></AutoType>
        \t\t\t\t<History><Entry><String><Key>Title</Key><Value>Bank</Value></String>
        \t\t\t\t\t<String><Key>Password</Key><Value>old</Value></String></Entry></History>
        \t\t\t</Entry>
        \t\t\t<Group>
        \t\t\t\t<UUID>ICEiIyQlJicoKSorLC0uLw==</UUID><Name>Work/Mail</Name>
        \t\t\t\t<Group><Name>Old</Name>
        \t\t\t\t\t<Entry><String><Key>Title</Key><Value>IMAP</Value></String>
        \t\t\t\t\t\t<String><Key>Password</Key><Value><![CDATA[<pw>&]]></Value></String></Entry>
        \t\t\t\t</Group>
        \t\t\t</Group>
        \t\t\t<Group><UUID>q83vEjRWeJCrze8SNFZ4kA==</UUID><Name>Recycle Bin</Name>
        \t\t\t\t<Entry><String><Key>Title</Key><Value>Gone</Value></String>
        \t\t\t\t\t<String><Key>Password</Key><Value>gone</Value></String></Entry>
        \t\t\t</Group>
        \t\t</Group>
        \t\t<DeletedObjects/>
        \t</Root>
        </KeePassFile>

        """

    /// Bitwarden 2025.x, "Export vault", .json: a login with folder, fields, key in base32 and passkey, a note, a card, one in the trash.
    static let bitwarden = #"""
        {
          "encrypted": false,
          "folders": [{"id": "f1", "name": "Social/Forums"}],
          "items": [
            {"passwordHistory": [{"lastUsedDate": "2025-01-01T00:00:00.000Z", "password": "older"}],
             "revisionDate": "2025-01-01T00:00:00.000Z", "creationDate": "2025-01-01T00:00:00.000Z", "deletedDate": null,
             "id": "i1", "organizationId": null, "folderId": "f1", "type": 1, "reprompt": 0, "name": "Forum",
             "notes": "a \"note\"\nof two lines", "favorite": false,
             "fields": [{"name": "PIN", "value": "99\\1", "type": 1, "linkedId": null},
                        {"name": "member", "value": "true", "type": 2, "linkedId": null},
                        {"name": "linked", "value": null, "type": 3, "linkedId": 100}],
             "login": {"fido2Credentials": [{"credentialId": "c", "keyType": "public-key"}],
                       "uris": [{"match": null, "uri": "https://forum.example/login"},
                                {"match": null, "uri": "https://forum2.example"}],
                       "username": "m\u00fc\ud83d\ude00", "password": "p\u0061ss\/word", "totp": "jbsw y3dp ehpk 3pxp"},
             "collectionIds": null},
            {"id": "i2", "organizationId": null, "folderId": null, "type": 2, "reprompt": 0, "name": "Note",
             "notes": "only a note", "favorite": false, "secureNote": {"type": 0}, "deletedDate": null},
            {"id": "i3", "folderId": null, "type": 3, "name": "Card", "notes": null, "deletedDate": null,
             "card": {"cardholderName": "Me", "brand": "Visa", "number": "4111", "expMonth": "1", "expYear": "2030", "code": null}},
            {"id": "i4", "folderId": null, "type": 1, "name": "Trash", "deletedDate": "2025-01-01T00:00:00.000Z",
             "login": {"username": "x", "password": "trash"}}
          ]
        }
        """#

    /// Chrome 138, "Download file" in its password manager: CRLF is not written, cells are quoted where they have to be.
    static let chrome = """
        name,url,username,password,note
        site.example,https://site.example/,me,"a,""b""\u{20}
        c",
        site.example,https://site.example/,you,second,a note
        site.example,https://site.example/other,you,third,

        """

    /// Firefox 140, "Export passwords": every cell is quoted, lines end with CRLF, the first row has no title.
    static let firefox = """
        "url","username","password","httpRealm","formActionOrigin","guid","timeCreated","timeLastUsed","timePasswordChanged"\r
        "https://me@shop.example:8443/a","me","pw ""1"" x",,"https://shop.example","{6e1e0a52-3c1f-4b0b-8a55-000000000001}",\
        "1700000000000","1700000000000","1700000000000"\r
        "https://router.example","admin","pw2","Router",,"{6e1e0a52-3c1f-4b0b-8a55-000000000002}","1","1","1"\r

        """

    /// 1Password 8, "Export", CSV.
    static let onePassword = """
        Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes
        Git,https://git.example,me,pw,otpauth://totp/Git?secret=JBSWY3DPEHPK3PXP,false,false,work;code,"line 1
        line 2"

        """

    /// CXF 1.0 (FIDO Alliance, Proposed Standard of 2025-08-14), the structures of its sections 2 and 3.
    static let cxf = #"""
        {"version": {"major": 1, "minor": 0}, "exporterRpId": "exporter.example", "exporterDisplayName": "Exporter",
         "timestamp": 1705228800,
         "accounts": [{"id": "DZSXp7iBQY-Fg-OofakQtQ", "username": "jane", "email": "jane@example.com",
           "collections": [{"id": "Y29s", "title": "Work", "items": [],
             "subCollections": [{"id": "c3Vi", "title": "Mail", "items": [{"item": "aXRlbTE"}]}]}],
           "items": [
             {"id": "aXRlbTE", "creationAt": 1705142400, "modifiedAt": 1705228800, "title": "IMAP",
              "scope": {"urls": ["https://mail.example"], "androidApps": []},
              "credentials": [
                {"type": "basic-auth", "username": {"fieldType": "string", "value": "jane"},
                 "password": {"fieldType": "concealed-string", "value": "cxf pw"}},
                {"type": "totp", "secret": "JBSWY3DPEHPK3PXP", "period": 60, "digits": 8, "algorithm": "sha256",
                 "issuer": "Mail", "username": "jane"},
                {"type": "passkey", "credentialId": "Y3I", "rpId": "mail.example", "username": "jane",
                 "userDisplayName": "Jane", "userHandle": "dWg", "key": "cGs"},
                {"type": "custom-fields", "label": "More",
                 "fields": [{"fieldType": "concealed-string", "value": "42", "label": "PIN"}]},
                {"type": "note", "content": {"fieldType": "string", "value": "a note"}}]},
             {"id": "aXRlbTI", "title": "Wi-Fi", "credentials": [
                {"type": "wifi", "ssid": {"fieldType": "string", "value": "home"},
                 "passphrase": {"fieldType": "concealed-string", "value": "wifi pw"}},
                {"type": "totp", "secret": "AAAA", "period": 30, "digits": 6, "algorithm": "md5"}]}
           ]}]}
        """#
}
