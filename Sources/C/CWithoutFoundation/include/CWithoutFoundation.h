/// Lets the released command link without Foundation: stripped it has 11.1 MB instead of 17.4 MB.
///
/// swift-argument-parser refers to Foundation in one file, for two things: a `LocalizedError`'s description, and the JSON of
/// its hidden option `--experimental-dump-help`, which tools that write manuals use on a build of their own. Linked statically
/// they bring in FoundationEssentials, its collections and the regular expressions. This target defines the symbols, and the
/// linker then takes nothing from Foundation's archive. No type conforms to this `LocalizedError`, as none in the command does
/// to Foundation's; the JSON is refused with a message.
///
/// All definitions are weak: if a later version of the library needs more of Foundation, its own definitions are used and the
/// command only becomes larger, which `Scripts/deb` reports.
#pragma once
