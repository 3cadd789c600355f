/// The scripts that complete `touchstone` in shells: they ask the installed program, and evaluate nothing that it answers.
enum CompletionScript: String {
    case bash
    case zsh
    case fish

    /// The script, without a newline at its end.
    var text: String {
        switch self {
        case .bash: Self.forBash
        case .zsh: Self.forZsh
        case .fish: Self.forFish
        }
    }

    /// The answer's lines are quoted for the line as it is; bash inserts them without another look.
    private static let forBash = #"""
        # Completion of touchstone in bash 4 or later.

        _touchstone() {
            local -a answer=()
            local -i at
            COMPREPLY=()
            mapfile -t answer < <(
                command touchstone ---complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null
            )
            case ${answer[0]-} in
            words) COMPREPLY=("${answer[@]:1}") ;;
            file) compopt -o default ;;
            command)
                # The command of `run` follows its first --.
                for ((at = 2; at < COMP_CWORD; at++)); do
                    [[ ${COMP_WORDS[at]} == -- ]] && break
                done
                if declare -F _comp_command_offset >/dev/null; then
                    _comp_command_offset $((at + 1))
                elif declare -F _command_offset >/dev/null; then
                    _command_offset $((at + 1))
                elif ((COMP_CWORD == at + 1)) && [[ $2 != */* ]]; then
                    mapfile -t answer < <(compgen -A command -- "$2")
                    ((${#answer[@]})) && mapfile -t COMPREPLY < <(printf '%q\n' "${answer[@]}" | sort -u)
                else
                    compopt -o default
                fi
                ;;
            esac
        }

        complete -F _touchstone touchstone
        """#

    /// `(Q)` removes quotes and expands nothing; compadd quotes what it inserts.
    private static let forZsh = #"""
        #compdef touchstone
        # Completion of touchstone in zsh.

        _touchstone() {
            local -a answer candidates shown
            local line lead
            local -i at
            answer=("${(@f)$(command touchstone ---complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
            lead=${answer[1]#*$'\t'}
            # The start of the word that stays: --env=A=
            while [[ $lead == *=* ]]; do
                compset -P 1 '*='
                lead=${lead#*=}
            done
            case ${answer[1]%%$'\t'*} in
            words)
                for line in "${(@)answer[2,-1]}"; do
                    candidates+=("${line%%$'\t'*}")
                    shown+=("${line/$'\t'/  -- }")
                done
                if [[ ${answer[2]-} == *$'\t'* ]]; then
                    compadd -l -d shown -a candidates
                else
                    compadd -a candidates
                fi
                ;;
            file) _files ;;
            command)
                # The command of `run` follows its first --.
                for ((at = 3; at < CURRENT; at++)); do
                    [[ ${words[at]} == -- ]] && break
                done
                words=("${(@)words[at+1,-1]}")
                ((CURRENT -= at))
                _normal
                ;;
            esac
        }

        if [[ ${funcstack[1]-} == _touchstone ]]; then
            _touchstone "$@"
        else
            compdef _touchstone touchstone
        fi
        """#

    /// The tokens come without quotes and unexpanded; fish escapes what it inserts.
    private static let forFish = #"""
        # Completion of touchstone in fish.

        function __touchstone_complete
            set -l before (commandline --tokenize --current-process --cut-at-cursor)
            set -l typed (commandline --current-token --cut-at-cursor)
            # Within an open quote it stays as typed.
            set -l last (string unescape -- "$typed"; or string collect -- "$typed")
            set -l answer (command touchstone ---complete fish $before[2..-1] "$last" 2>/dev/null)
            set -l kind (string split --max 1 \t -- "$answer[1]")
            switch "$kind[1]"
                case words
                    printf '%s\n' $answer[2..-1]
                case file
                    set -l start (math (string length -- "$kind[2]") + 1)
                    for path in (__fish_complete_path (string sub --start $start -- "$last"))
                        printf '%s%s\n' "$kind[2]" "$path"
                    end
                case command
                    # The command of `run` follows its first --.
                    set -l at (contains --index -- -- $before)
                    set -l command (string escape -- $before[(math $at + 1)..-1])
                    complete -C "$command $typed"
            end
        end

        complete --command touchstone --no-files --arguments '(__touchstone_complete)'
        """#
}
