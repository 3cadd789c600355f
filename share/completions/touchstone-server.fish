function __touchstone-server_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __touchstone-server_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __touchstone-server_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __touchstone-server_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __touchstone-server_parse_tokens -S
    set -l unparsed_tokens (__touchstone-server_tokens -pc)
    switch $unparsed_tokens[1]
    case 'touchstone-server'
        __touchstone-server_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'serve'
            __touchstone-server_parse_subcommand 0 'c/config=' 'version' 'h/help'
        case 'check-config'
            __touchstone-server_parse_subcommand 0 'c/config=' 'version' 'h/help'
        case 'migrate'
            __touchstone-server_parse_subcommand 0 'c/config=' 'version' 'h/help'
        case 'verify-audit'
            __touchstone-server_parse_subcommand 0 'c/config=' 'head=' 'version' 'h/help'
        case 'import-users'
            __touchstone-server_parse_subcommand 1 'c/config=' 'dry-run' 'version' 'h/help'
        case 'version'
            __touchstone-server_parse_subcommand 0 'version' 'h/help'
        case 'help'
            __touchstone-server_parse_subcommand -r 1 'version'
        end
    end
end

function __touchstone-server_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __touchstone-server_parse_subcommand -S -a positional_count
    argparse -s r -- $argv
    set -l option_specs $argv[2..]
    set -l is_repeating_positional $_flag_r
    set -el _flag_r
    set -a commands $unparsed_tokens[1]
    set positional_index 0
    while true
        set -e unparsed_tokens[1]
        argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null
        set unparsed_tokens $argv
        set positional_index (math $positional_index + 1)
        for non_repeating_flag_or_option in $non_repeating_flags_or_options
            if set -ql "_flag_$(string replace -a - _ -- $non_repeating_flag_or_option)"
                set non_repeating_flags_or_options_absent 1
                break
            end
        end
        test (count $unparsed_tokens) -eq 0 -o \( -z "$is_repeating_positional" -a "$positional_index" -gt "$positional_count" \) && break
    end
end

function __touchstone-server_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __touchstone-server_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__touchstone-server_tokens -p)
    if test -z "$(__touchstone-server_tokens -t)"
        set -l index (count (__touchstone-server_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'touchstone-server' -f
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server" -eq 1' -fa 'serve' -d 'Serve until SIGTERM or SIGINT; SIGHUP reads the configuration again.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server" -eq 1' -fa 'check-config' -d 'Read the configuration and the files it names, try the database, and print the settings in effect.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server" -eq 1' -fa 'migrate' -d 'Migrate the database to the current version, or create it.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server" -eq 1' -fa 'verify-audit' -d 'Check that no event of the audit log was changed or removed, also while servers run.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server" -eq 1' -fa 'import-users' -d 'Make accounts with password hashes of another program, also while servers run.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server" -eq 1' -fa 'version' -d 'Print the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server serve" c config' -l 'config' -s 'c' -d 'The file with the settings; else TOUCHSTONE_SERVER_CONFIG, else /etc/touchstone/touchstone-server.conf.' -rfka ''
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server serve" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server serve" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server check-config" c config' -l 'config' -s 'c' -d 'The file with the settings; else TOUCHSTONE_SERVER_CONFIG, else /etc/touchstone/touchstone-server.conf.' -rfka ''
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server check-config" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server check-config" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server migrate" c config' -l 'config' -s 'c' -d 'The file with the settings; else TOUCHSTONE_SERVER_CONFIG, else /etc/touchstone/touchstone-server.conf.' -rfka ''
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server migrate" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server migrate" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server verify-audit" c config' -l 'config' -s 'c' -d 'The file with the settings; else TOUCHSTONE_SERVER_CONFIG, else /etc/touchstone/touchstone-server.conf.' -rfka ''
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server verify-audit" head' -l 'head' -d 'Compare with a file of heads, or with audit-head-file, in which this head has to be.' -rfka ''
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server verify-audit" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server verify-audit" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server import-users" c config' -l 'config' -s 'c' -d 'The file with the settings; else TOUCHSTONE_SERVER_CONFIG, else /etc/touchstone/touchstone-server.conf.' -rfka ''
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server import-users" dry-run' -l 'dry-run' -d 'Only check the lines: write nothing.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_positional "touchstone-server import-users" -eq 1' -F
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server import-users" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server import-users" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server version" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server version" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone-server' -n '__touchstone-server_should_offer_completions_for_flags_or_options "touchstone-server help" version' -l 'version' -d 'Show the version.'
