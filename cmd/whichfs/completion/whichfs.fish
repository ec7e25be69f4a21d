# fish completion for whichfs: whichfs itself knows what fits.
function __whichfs_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    for line in (command whichfs complete -- $words[2..] $token 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (string unescape -- $token; or echo $token)
        else
            echo $line
        end
    end
end
complete -c whichfs -f -a '(__whichfs_complete)'
