function __touchstone_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __touchstone_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __touchstone_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __touchstone_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __touchstone_parse_tokens -S
    set -l unparsed_tokens (__touchstone_tokens -pc)
    switch $unparsed_tokens[1]
    case 'touchstone'
        __touchstone_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'set'
            __touchstone_parse_subcommand 1 'require=' 'from-file=' 'exact' 'replace' 'version' 'h/help'
        case 'get'
            __touchstone_parse_subcommand 1 'show' 'c/clip' 'clear-after=' 'version' 'h/help'
        case 'generate'
            __touchstone_parse_subcommand 1 'length=' 'characters=' 'words=' 'separator=' 'require=' 'replace' 'show' 'c/clip' 'clear-after=' 'version' 'h/help'
        case 'edit'
            __touchstone_parse_subcommand 1 'version' 'h/help'
        case 'run'
            __touchstone_parse_subcommand -r 1 'env=+' 'env-file=+' 'mask' 'version' 'h/help'
        case 'inject'
            __touchstone_parse_subcommand 0 'i/in-file=' 'o/out-file=' 'replace' 'show' 'version' 'h/help'
        case 'list'
            __touchstone_parse_subcommand 0 'json' 'version' 'h/help'
        case 'find'
            __touchstone_parse_subcommand 1 'json' 'version' 'h/help'
        case 'show'
            __touchstone_parse_subcommand 1 'json' 'version' 'h/help'
        case 'copy'
            __touchstone_parse_subcommand 2 'replace' 'version' 'h/help'
        case 'rename'
            __touchstone_parse_subcommand 2 'version' 'h/help'
        case 'delete'
            __touchstone_parse_subcommand -r 1 'y/yes' 'version' 'h/help'
        case 'setup'
            __touchstone_parse_subcommand 0 'set-lockout-auth' 'version' 'h/help'
        case 'unlock'
            __touchstone_parse_subcommand 0 'version' 'h/help'
        case 'lock'
            __touchstone_parse_subcommand 0 'version' 'h/help'
        case 'passcode'
            __touchstone_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'change'
                __touchstone_parse_subcommand 0 'version' 'h/help'
            end
        case 'recover'
            __touchstone_parse_subcommand 0 'version' 'h/help'
        case 'backup'
            __touchstone_parse_subcommand 1 'restore' 'replace' 'json' 'version' 'h/help'
        case 'migrate'
            __touchstone_parse_subcommand 0 'export=' 'import=' 'replace' 'json' 'version' 'h/help'
        case 'attest'
            __touchstone_parse_subcommand 0 'nonce=' 'require=' 'version' 'h/help'
        case 'system'
            __touchstone_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'enable'
                __touchstone_parse_subcommand 0 'user=' 'from=' 'y/yes' 'later' 'version' 'h/help'
            case 'disable'
                __touchstone_parse_subcommand 0 'user=' 'from=' 'y/yes' 'later' 'version' 'h/help'
            case 'status'
                __touchstone_parse_subcommand 0 'user=' 'from=' 'json' 'version' 'h/help'
            end
        case 'apps'
            __touchstone_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __touchstone_parse_subcommand 0 'json' 'version' 'h/help'
            case 'move'
                __touchstone_parse_subcommand 2 'dry-run' 'version' 'h/help'
            end
        case 'status'
            __touchstone_parse_subcommand 0 'json' 'version' 'h/help'
        case 'doctor'
            __touchstone_parse_subcommand 0 'json' 'version' 'h/help'
        case 'repair'
            __touchstone_parse_subcommand 0 'accept' 'json' 'version' 'h/help'
        case 'git-credential'
            __touchstone_parse_subcommand 1 'require=' 'version' 'h/help'
        case 'docker-credential'
            __touchstone_parse_subcommand 1 'version' 'h/help'
        case 'help'
            __touchstone_parse_subcommand -r 1 'version'
        end
    end
end

function __touchstone_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __touchstone_parse_subcommand -S -a positional_count
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

function __touchstone_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __touchstone_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__touchstone_tokens -p)
    if test -z "$(__touchstone_tokens -t)"
        set -l index (count (__touchstone_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'touchstone' -f
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'set' -d 'Store a secret.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'get' -d 'Write a secret to standard output.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'generate' -d 'Generate a random secret and store it.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'edit' -d 'Change a secret in an editor.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'run' -d 'Run a command with secrets in its environment.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'inject' -d 'Replace the references in a template by their secrets.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'list' -d 'List the secrets with their requirements and dates.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'find' -d 'List the secrets whose name contains a text or matches a pattern.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'show' -d 'Show what is known of a secret, without releasing it.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'copy' -d 'Store a secret under a second name, with the same requirement.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'rename' -d 'Give a secret another name.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'delete' -d 'Delete secrets for good.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'setup' -d 'Create the keychain: choose its passcode, note its recovery code.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'unlock' -d 'Unlock the keychain with the passcode; fingers work from then on.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'lock' -d 'Lock the keychain: the passcode is needed again.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'passcode' -d 'Change the passcode.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'recover' -d 'Open the keychain with its recovery code and choose a new passcode.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'backup' -d 'Write a backup of the secrets to a file, sealed under the recovery code, or bring one back.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'migrate' -d 'Move the keychain: its key to this machine\'s TPM, or its secrets to another machine.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'attest' -d 'Print this machine\'s TPM attestation of a new key, as JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'system' -d 'Keep the keychain under an account of its own, where no program of the user reaches its files.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'apps' -d 'List the programs that keep items here, or give a program\'s items to another.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'status' -d 'Show the keychain\'s state: locked or not, assurance, sensor, fingers, lockouts.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'doctor' -d 'Check every part, one by one, and say what to do.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'repair' -d 'Show which items are damaged, older or missing, and keep the intact ones.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'git-credential' -d 'Keep git\'s passwords and tokens; git calls it.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'docker-credential' -d 'Keep docker\'s logins; docker calls it.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone set" require' -l 'require' -d 'What reading it requires: finger, passcode, either or none.' -rfka 'finger passcode either none'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone set" from-file' -l 'from-file' -d 'Read the secret from a file.' -rF
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone set" exact' -l 'exact' -d 'Keep a newline at the end.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone set" replace' -l 'replace' -d 'Replace an existing secret of this name.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone set" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone set" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone get" -eq 1' -fka '(__touchstone_custom_completion ---completion get -- positional@0 (count (__touchstone_tokens -pc)) (__touchstone_tokens -tC))'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone get" show' -l 'show' -d 'Show the secret on the terminal.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone get" c clip' -s 'c' -l 'clip' -d 'Copy the secret to the clipboard, which is cleared after a while.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone get" clear-after' -l 'clear-after' -d 'Seconds until the clipboard is cleared.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone get" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone get" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" length' -l 'length' -d 'The number of characters, 1 to 1024.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" characters' -l 'characters' -d 'Kinds of characters, separated by commas.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" words' -l 'words' -d 'Use this many words instead of characters, 1 to 64.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" separator' -l 'separator' -d 'The separator between words.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" require' -l 'require' -d 'What reading it requires: finger, passcode, either or none.' -rfka 'finger passcode either none'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" replace' -l 'replace' -d 'Replace an existing secret of this name.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" show' -l 'show' -d 'Write it to standard output too, also to a terminal.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" c clip' -s 'c' -l 'clip' -d 'Copy the secret to the clipboard, which is cleared after a while.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" clear-after' -l 'clear-after' -d 'Seconds until the clipboard is cleared.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone generate" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone edit" -eq 1' -fka '(__touchstone_custom_completion ---completion edit -- positional@0 (count (__touchstone_tokens -pc)) (__touchstone_tokens -tC))'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone edit" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone edit" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone run"' -l 'env' -d 'A variable and its secret.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone run"' -l 'env-file' -d 'A file of variables and references, or - for standard input.' -rF
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone run" mask' -l 'mask' -d 'Conceal the secrets in the command\'s output.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone run" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone run" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone inject" i in-file' -s 'i' -l 'in-file' -d 'The template; standard input otherwise.' -rF
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone inject" o out-file' -s 'o' -l 'out-file' -d 'Where to write, with mode 0600; standard output otherwise.' -rF
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone inject" replace' -l 'replace' -d 'Replace an existing file.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone inject" show' -l 'show' -d 'Write to standard output also when it is a terminal.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone inject" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone inject" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone list" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone list" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone find" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone find" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone find" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone show" -eq 1' -fka '(__touchstone_custom_completion ---completion show -- positional@0 (count (__touchstone_tokens -pc)) (__touchstone_tokens -tC))'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone show" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone show" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone show" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone copy" -eq 1' -fka '(__touchstone_custom_completion ---completion copy -- positional@0 (count (__touchstone_tokens -pc)) (__touchstone_tokens -tC))'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone copy" replace' -l 'replace' -d 'Replace an existing secret of this name.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone copy" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone copy" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone rename" -eq 1' -fka '(__touchstone_custom_completion ---completion rename -- positional@0 (count (__touchstone_tokens -pc)) (__touchstone_tokens -tC))'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone rename" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone rename" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone delete" -ge 1' -fka '(__touchstone_custom_completion ---completion delete -- positional@0 (count (__touchstone_tokens -pc)) (__touchstone_tokens -tC))'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone delete" y yes' -s 'y' -l 'yes' -d 'Do not ask.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone delete" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone delete" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone setup" set-lockout-auth' -l 'set-lockout-auth' -d 'Also set the TPM\'s lockout authorization to a code that is shown once; can be done later.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone setup" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone setup" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone unlock" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone unlock" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone lock" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone lock" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone passcode" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone passcode" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone passcode" -eq 1' -fa 'change' -d 'Change the passcode.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone passcode change" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone passcode change" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone recover" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone recover" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone backup" -eq 1' -F
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone backup" restore' -l 'restore' -d 'Create this machine\'s keychain from the backup.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone backup" replace' -l 'replace' -d 'Replace an existing file.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone backup" json' -l 'json' -d 'Write what was saved or brought back as JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone backup" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone backup" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone migrate" export' -l 'export' -d 'Seal the secrets under the recovery code into this file.' -rF
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone migrate" import' -l 'import' -d 'Create this machine\'s keychain from an export.' -rF
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone migrate" replace' -l 'replace' -d 'Replace an existing file.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone migrate" json' -l 'json' -d 'Write what was moved as JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone migrate" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone migrate" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone attest" nonce' -l 'nonce' -d 'A nonce for the attestation: at most 64 bytes in hexadecimal.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone attest" require' -l 'require' -d 'What using the key requires: finger, passcode, either or none.' -rfka 'finger passcode either none'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone attest" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone attest" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone system" -eq 1' -fa 'enable' -d 'Move a user\'s keychain to system mode.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone system" -eq 1' -fa 'disable' -d 'Move a user\'s keychain back from system mode.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone system" -eq 1' -fa 'status' -d 'Show which mode the keychain is in, where it is, and what system mode lacks.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system enable" user' -l 'user' -d 'The keychain\'s user; by default the user who ran sudo or pkexec.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system enable" from' -l 'from' -d 'The user\'s own directory of the keychain, where it is neither ~/.local/share/touchstone nor the one it moved from.' -rfa '(__touchstone_complete_directories)'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system enable" y yes' -s 'y' -l 'yes' -d 'Do not ask.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system enable" later' -l 'later' -d 'Do not unlock it now: the former keychain stays until the command is run again.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system enable" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system enable" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system disable" user' -l 'user' -d 'The keychain\'s user; by default the user who ran sudo or pkexec.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system disable" from' -l 'from' -d 'The user\'s own directory of the keychain, where it is neither ~/.local/share/touchstone nor the one it moved from.' -rfa '(__touchstone_complete_directories)'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system disable" y yes' -s 'y' -l 'yes' -d 'Do not ask.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system disable" later' -l 'later' -d 'Do not unlock it now: the former keychain stays until the command is run again.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system disable" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system disable" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system status" user' -l 'user' -d 'The keychain\'s user; by default yourself.' -rfka ''
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system status" from' -l 'from' -d 'The user\'s own directory of the keychain.' -rfa '(__touchstone_complete_directories)'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system status" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system status" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone system status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone apps" -eq 1' -fa 'list' -d 'List the programs that keep items here: how many, when last changed, whether the file exists.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_positional "touchstone apps" -eq 1' -fa 'move' -d 'Give all items of one program to another, with the passcode.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps list" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps list" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps move" dry-run' -l 'dry-run' -d 'Say what would be moved, and change nothing.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps move" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone apps move" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone status" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone status" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone doctor" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone doctor" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone doctor" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone repair" accept' -l 'accept' -d 'Keep the intact items and accept them as the current state.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone repair" json' -l 'json' -d 'Write JSON.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone repair" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone repair" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone git-credential" require' -l 'require' -d 'What a new credential requires: finger, passcode, either or none.' -rfka 'finger passcode either none'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone git-credential" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone git-credential" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone docker-credential" version' -l 'version' -d 'Show the version.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone docker-credential" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'touchstone' -n '__touchstone_should_offer_completions_for_flags_or_options "touchstone help" version' -l 'version' -d 'Show the version.'
