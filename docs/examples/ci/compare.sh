#!/bin/bash
# ci/compare.sh BASE: tells in changes.md what changed since the commit BASE in the scenarios of the
# folder protocols/. Where a Python file there changed, each scenario may have, as it may be of it.
# Ends with 0, or with the status of a comparison that did not.
set -u
base=$1 status=0 part=$(mktemp -d)
since=("$base")
git diff --quiet "$base" -- 'protocols/*.py' || since=("$(git hash-object -t tree /dev/null)")

echo '# What changes' > changes.md
while IFS= read -r -d '' file; do
  if ! git cat-file -e "$base:$file" 2> /dev/null; then
    printf '\n%s is new: there is nothing to compare it with.\n' "$file" >> changes.md
    continue
  fi
  rackproof diff "$base:$file" "$file" --time-limit 5m --markdown "$part/part.md" || status=$?
  if [ -e "$part/part.md" ]; then
    { echo; cat "$part/part.md"; } >> changes.md
    rm "$part/part.md"
  fi
done < <(git diff -z --name-only --diff-filter=d "${since[@]}" -- 'protocols/*.yaml')
exit "$status"
