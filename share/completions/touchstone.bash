#!/bin/bash

__touchstone_cursor_index_in_current_word() {
    local remaining="${COMP_LINE}"

    local word
    for word in "${COMP_WORDS[@]::COMP_CWORD}"; do
        remaining="${remaining##*([[:space:]])"${word}"*([[:space:]])}"
    done

    local -ir index="$((COMP_POINT - ${#COMP_LINE} + ${#remaining}))"
    if [[ "${index}" -le 0 ]]; then
        printf 0
    else
        printf %s "${index}"
    fi
}

# positional arguments:
#
# - 1: the current (sub)command's count of positional arguments
#
# required variables:
#
# - repeating_flags: the repeating flags that the current (sub)command can accept
# - non_repeating_flags: the non-repeating flags that the current (sub)command can accept
# - repeating_options: the repeating options that the current (sub)command can accept
# - non_repeating_options: the non-repeating options that the current (sub)command can accept
# - positional_number: value ignored
# - unparsed_words: unparsed words from the current command line
#
# modified variables:
#
# - non_repeating_flags: remove flags for this (sub)command that are already on the command line
# - non_repeating_options: remove options for this (sub)command that are already on the command line
# - positional_number: set to the current positional number
# - unparsed_words: remove all flags, options, and option values for this (sub)command
__touchstone_offer_flags_options() {
    local -ir positional_count="${1}"
    positional_number=0

    local was_flag_option_terminator_seen=false
    local is_parsing_option_value=false

    local -ar unparsed_word_indices=("${!unparsed_words[@]}")
    local -i word_index
    for word_index in "${unparsed_word_indices[@]}"; do
        if "${is_parsing_option_value}"; then
            # This word is an option value:
            # Reset marker for next word iff not currently the last word
            [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]] && is_parsing_option_value=false
            unset "unparsed_words[${word_index}]"
            # Do not process this word as a flag or an option
            continue
        fi

        local word="${unparsed_words["${word_index}"]}"
        if ! "${was_flag_option_terminator_seen}"; then
            case "${word}" in
            --)
                unset "unparsed_words[${word_index}]"
                # by itself -- is a flag/option terminator, but if it is the last word, it is the start of a completion
                if [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]]; then
                    was_flag_option_terminator_seen=true
                fi
                continue
                ;;
            -*)
                # ${word} is a flag or an option
                # If ${word} is an option, mark that the next word to be parsed is an option value
                local option
                for option in "${repeating_options[@]}" "${non_repeating_options[@]}"; do
                    [[ "${word}" = "${option}" ]] && is_parsing_option_value=true && break
                done

                # Remove ${word} from ${non_repeating_flags} or ${non_repeating_options} so it isn't offered again
                local not_found=true
                local -i index
                for index in "${!non_repeating_flags[@]}"; do
                    if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                        unset "non_repeating_flags[${index}]"
                        non_repeating_flags=("${non_repeating_flags[@]}")
                        not_found=false
                        break
                    fi
                done
                if "${not_found}"; then
                    for index in "${!non_repeating_flags[@]}"; do
                        if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                            unset "non_repeating_flags[${index}]"
                            non_repeating_flags=("${non_repeating_flags[@]}")
                            break
                        fi
                    done
                fi
                unset "unparsed_words[${word_index}]"
                continue
                ;;
            esac
        fi

        # ${word} is neither a flag, nor an option, nor an option value
        if [[ "${positional_number}" -lt "${positional_count}" || "${positional_count}" -lt 0 ]]; then
            # ${word} is a positional
            ((positional_number++))
            unset "unparsed_words[${word_index}]"
        else
            if [[ -z "${word}" ]]; then
                # Could be completing a flag, option, or subcommand
                positional_number=-1
            else
                # ${word} is a subcommand or invalid, so stop processing this (sub)command
                positional_number=-2
            fi
            break
        fi
    done

    unparsed_words=("${unparsed_words[@]}")

    if\
        ! "${was_flag_option_terminator_seen}"\
        && ! "${is_parsing_option_value}"\
        && [[ ("${cur}" = -* && "${positional_number}" -ge 0) || "${positional_number}" -eq -1 ]]
    then
        COMPREPLY+=($(compgen -W "${repeating_flags[*]} ${non_repeating_flags[*]} ${repeating_options[*]} ${non_repeating_options[*]}" -- "${cur}"))
    fi
}

__touchstone_add_completions() {
    local completion
    while IFS='' read -r completion; do
        COMPREPLY+=("${completion}")
    done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
}

__touchstone_custom_complete() {
    if [[ -n "${cur}" || -z ${COMP_WORDS[${COMP_CWORD}]} || "${COMP_LINE:${COMP_POINT}:1}" != ' ' ]]; then
        local -ar words=("${COMP_WORDS[@]}")
    else
        local -ar words=("${COMP_WORDS[@]::${COMP_CWORD}}" '' "${COMP_WORDS[@]:${COMP_CWORD}}")
    fi

    "${COMP_WORDS[0]}" "${@}" "${words[@]}"
}

_touchstone() {
    local state
    state="$(shopt -p;shopt -po)"
    trap "${state//$'\n'/;}" RETURN
    shopt -s extglob
    set +o history +o posix

    local -xr SAP_SHELL=bash
    local -x SAP_SHELL_VERSION
    SAP_SHELL_VERSION="$(IFS='.';printf %s "${BASH_VERSINFO[*]}")"
    local -r SAP_SHELL_VERSION

    local -r cur="${2}"
    local -r prev="${3}"

    local -i positional_number
    local -a unparsed_words=("${COMP_WORDS[@]:1:${COMP_CWORD}}")

    local -a repeating_flags=()
    local -a non_repeating_flags=(--version -h --help)
    local -a repeating_options=()
    local -a non_repeating_options=()
    __touchstone_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    set|get|generate|edit|run|inject|list|find|show|copy|rename|delete|setup|unlock|lock|passcode|recover|backup|migrate|attest|system|apps|status|doctor|repair|git-credential|docker-credential|help)
        # Offer subcommand argument completions
        "_touchstone_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'set get generate edit run inject list find show copy rename delete setup unlock lock passcode recover backup migrate attest system apps status doctor repair git-credential docker-credential help' -- "${cur}"))
        ;;
    esac
}

_touchstone_set() {
    repeating_flags=()
    non_repeating_flags=(--exact --replace --version -h --help)
    repeating_options=()
    non_repeating_options=(--require --from-file)
    __touchstone_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--require')
        __touchstone_add_completions -W 'finger'$'\n''passcode'$'\n''either'$'\n''none'
        return
        ;;
    '--from-file')
        __touchstone_add_completions -f
        return
        ;;
    esac
}

_touchstone_get() {
    repeating_flags=()
    non_repeating_flags=(--show -c --clip --version -h --help)
    repeating_options=()
    non_repeating_options=(--clear-after)
    __touchstone_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--clear-after')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __touchstone_add_completions -W "$(__touchstone_custom_complete ---completion get -- positional@0 "${COMP_CWORD}" "$(__touchstone_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_touchstone_generate() {
    repeating_flags=()
    non_repeating_flags=(--replace --show -c --clip --version -h --help)
    repeating_options=()
    non_repeating_options=(--length --characters --words --separator --require --clear-after)
    __touchstone_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--length')
        return
        ;;
    '--characters')
        return
        ;;
    '--words')
        return
        ;;
    '--separator')
        return
        ;;
    '--require')
        __touchstone_add_completions -W 'finger'$'\n''passcode'$'\n''either'$'\n''none'
        return
        ;;
    '--clear-after')
        return
        ;;
    esac
}

_touchstone_edit() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 1

    # Offer positional completions
    case "${positional_number}" in
    1)
        __touchstone_add_completions -W "$(__touchstone_custom_complete ---completion edit -- positional@0 "${COMP_CWORD}" "$(__touchstone_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_touchstone_run() {
    repeating_flags=()
    non_repeating_flags=(--mask --version -h --help)
    repeating_options=(--env --env-file)
    non_repeating_options=()
    __touchstone_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--env')
        return
        ;;
    '--env-file')
        __touchstone_add_completions -f
        return
        ;;
    esac
}

_touchstone_inject() {
    repeating_flags=()
    non_repeating_flags=(--replace --show --version -h --help)
    repeating_options=()
    non_repeating_options=(-i --in-file -o --out-file)
    __touchstone_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '-i'|'--in-file')
        __touchstone_add_completions -f
        return
        ;;
    '-o'|'--out-file')
        __touchstone_add_completions -f
        return
        ;;
    esac
}

_touchstone_list() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_find() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 1
}

_touchstone_show() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 1

    # Offer positional completions
    case "${positional_number}" in
    1)
        __touchstone_add_completions -W "$(__touchstone_custom_complete ---completion show -- positional@0 "${COMP_CWORD}" "$(__touchstone_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_touchstone_copy() {
    repeating_flags=()
    non_repeating_flags=(--replace --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 2

    # Offer positional completions
    case "${positional_number}" in
    1)
        __touchstone_add_completions -W "$(__touchstone_custom_complete ---completion copy -- positional@0 "${COMP_CWORD}" "$(__touchstone_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_touchstone_rename() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 2

    # Offer positional completions
    case "${positional_number}" in
    1)
        __touchstone_add_completions -W "$(__touchstone_custom_complete ---completion rename -- positional@0 "${COMP_CWORD}" "$(__touchstone_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_touchstone_delete() {
    repeating_flags=()
    non_repeating_flags=(-y --yes --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options -1

    # Offer positional completions
    case "${positional_number}" in
    *)
        __touchstone_add_completions -W "$(__touchstone_custom_complete ---completion delete -- positional@0 "${COMP_CWORD}" "$(__touchstone_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_touchstone_setup() {
    repeating_flags=()
    non_repeating_flags=(--set-lockout-auth --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_unlock() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_lock() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_passcode() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    change)
        # Offer subcommand argument completions
        "_touchstone_passcode_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'change' -- "${cur}"))
        ;;
    esac
}

_touchstone_passcode_change() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_recover() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_backup() {
    repeating_flags=()
    non_repeating_flags=(--restore --replace --json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 1

    # Offer positional completions
    case "${positional_number}" in
    1)
        __touchstone_add_completions -f
        return
        ;;
    esac
}

_touchstone_migrate() {
    repeating_flags=()
    non_repeating_flags=(--replace --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--export --import)
    __touchstone_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--export')
        __touchstone_add_completions -f
        return
        ;;
    '--import')
        __touchstone_add_completions -f
        return
        ;;
    esac
}

_touchstone_attest() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--nonce --require)
    __touchstone_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--nonce')
        return
        ;;
    '--require')
        __touchstone_add_completions -W 'finger'$'\n''passcode'$'\n''either'$'\n''none'
        return
        ;;
    esac
}

_touchstone_system() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    enable|disable|status)
        # Offer subcommand argument completions
        "_touchstone_system_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'enable disable status' -- "${cur}"))
        ;;
    esac
}

_touchstone_system_enable() {
    repeating_flags=()
    non_repeating_flags=(-y --yes --later --version -h --help)
    repeating_options=()
    non_repeating_options=(--user --from)
    __touchstone_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--user')
        return
        ;;
    '--from')
        __touchstone_add_completions -d
        return
        ;;
    esac
}

_touchstone_system_disable() {
    repeating_flags=()
    non_repeating_flags=(-y --yes --later --version -h --help)
    repeating_options=()
    non_repeating_options=(--user --from)
    __touchstone_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--user')
        return
        ;;
    '--from')
        __touchstone_add_completions -d
        return
        ;;
    esac
}

_touchstone_system_status() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--user --from)
    __touchstone_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--user')
        return
        ;;
    '--from')
        __touchstone_add_completions -d
        return
        ;;
    esac
}

_touchstone_apps() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    list|move)
        # Offer subcommand argument completions
        "_touchstone_apps_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'list move' -- "${cur}"))
        ;;
    esac
}

_touchstone_apps_list() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_apps_move() {
    repeating_flags=()
    non_repeating_flags=(--dry-run --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 2
}

_touchstone_status() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_doctor() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_repair() {
    repeating_flags=()
    non_repeating_flags=(--accept --json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 0
}

_touchstone_git-credential() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--require)
    __touchstone_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--require')
        __touchstone_add_completions -W 'finger'$'\n''passcode'$'\n''either'$'\n''none'
        return
        ;;
    esac
}

_touchstone_docker-credential() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options 1
}

_touchstone_help() {
    repeating_flags=()
    non_repeating_flags=(--version)
    repeating_options=()
    non_repeating_options=()
    __touchstone_offer_flags_options -1
}

complete -o filenames -F _touchstone touchstone
