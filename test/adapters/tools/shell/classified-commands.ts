/** Commands as a model might write them: what only reads, what has to be asked for, what never runs. */
export const ROOT = "/home/u/workspace";

export const READS: readonly string[] = linesOf(String.raw`
ls -la
ls -la --color=auto sub/dir
ls rm-notes.txt
ls --help
ls -- --help -o
cat -n a.txt
cat ${ROOT}/a.txt
head -5 a
head -n -5 a
tail -c +3 a
wc -l a b
grep -rn 'foo.*bar' src
grep -e /api/v1 -e x src
grep /api/v1 src
grep -f patterns.txt src
grep -A3 -B 2 --include='*.ts' -r x .
find . -name '*.ts' -type f -mtime -3 -print
find . '(' -name a -o -name b ')' ! -path './x/*'
find a b -newer c -printf '%p\n'
sort -k2,2 -n -t, a
sort -u a | uniq -c | sort -rn | head -3
uniq -c a
cut -d: -f1 a
tr -d x
diff -u a b
diff a /dev/null
date +%F
date -u -d '2 days ago' +%s
stat -c %s a
file -b a
echo -n hello '--output=x' '$(id)'
printf '%s' a
sed -n 1,5p a
sed -n '1,5p;10q' a
sed 's/a/b/g' a
sed -E -e 's|/x|/y|' -e '/^#/d' a
tar -tvf a.tar
tar tzf a.tgz
tar --list --file=a.tar
jq -r '.a[] | .b' a.json
rg -n foo src
tree -L 2
git status --short
git log --oneline -5 HEAD~3..HEAD -- src/a.ts
git diff --stat main...topic
git --no-pager show HEAD:src/a.ts
git branch -a
git tag -l
git remote -v
git grep -n foo
git blame -L 1,5 a.ts
git ls-files -o --exclude-standard
git rev-parse --abbrev-ref HEAD
git describe --always --tags
git --version
`);

export const ASKS: readonly string[] = linesOf(`
rm -rf node_modules
cp a b
touch a
sh script.sh
bash -c id
awk '{print $1}' a
python3 -c 'print(1)'
node app.js
env
env -S 'sh -c id'
xargs rm
timeout 5 ls
busybox sh -c id
make
npm test
vim -c ':!id' a
ls | sh
ls --no-such-option
sort --rev a
sort -T tmp a
sort --files0-from=list
wc --files0-from=list
tail -f log
find . -files0-from x
find . -nosuchtest
tar -xf a.tar
tar xf a.tar
tar -cf a.tar b
git add .
git commit -m 'x; y'
git checkout main
git branch topic
git branch -D topic
git tag v1
git remote add x y
git stash
git config user.name x
git -C sub status
git log --no-such-option
git diff --submodule=diff
git describe --dirty
git describe --dirty=-x
git describe --always --broken
git status --ignore-submodules=none
git diff --ignore-submodules=none
git ls-files --recurse-submodules
git grep --recurse-submodules x
git clean -fdx
`);

/** With every one of their programs allowlisted. */
export const DENIED: readonly string[] = linesOf(String.raw`
/bin/ls
./ls
../ls
LD_PRELOAD=./x.so ls
A=1
cd src
LS
ls=
'l s'
''
curl x
eval id
. x
exec ls
source x
toString
__proto__
constructor
cat /etc/passwd
cat ../x
cat a/../../x
head '$HOME/../../x'
ls /
ls ..
cat ${ROOT}-sibling/x
grep -rf /etc/passwd .
grep -f/etc/passwd x
grep --file=/etc/passwd x
grep --file /etc/passwd x
grep -e x /etc/passwd
find / -name x
find .. -name x
find . -newer /etc/passwd
date -r /etc/passwd
diff a /etc/passwd
stat /proc/1
git diff --no-index /etc/passwd a
git -C .. status
git -C /etc status
jq -f /etc/x .
tar -tf /x.tar
wc -- /etc/passwd
sort -o x a
sort -ox a
sort a -o x
sort -uo x a
sort --output=x a
sort --output x a
sort --outp=x a
sort --o=x a
sort -k -o a
sort -t -ox a
uniq a b
date -s tomorrow
date --set=tomorrow
date 010100002030
file -C -m x
tree -o x
tree -R -L 1
sed -i s/a/b/ x
sed -n -i.bak p x
sed --in-place=.b p x
sed --in p x
sed -ni p x
find . -delete
find . -fprint x
find . -fprintf x %p
find . -fls x
find . -fprint0 x
find . -name -delete
find . -exec id '{}' +
find . -execdir id ';'
find . -ok id ';'
find . -okdir id ';'
find -- . -exec id ';'
sort --compress-prog=./x a
sort --compress-program ./x a
sort --co=./x a
sort --c=./x a
diff -l a b
diff -ul a b
rg --pre=./x y
rg --pre ./x y
rg --hostname-bin=./x y
rg --p=x y
tar -tf a --checkpoint=1 --checkpoint-action=exec=id
tar -tf a --to-command=id
tar -I ./x -tf a
tar -tIf ./x a
tar tIf ./x a
tar --use-compress-program=./x -tf a
tar --use=./x -tf a
tar -xf a --to=id
tar cf x --checkpoint-act=exec=id y
tar -F ./x -tf a
tar --rsh-command=./x -tf h:a
tar -tf host:a.tar
tar --file=u@host:a -t
tar -tT list -f a
tar tf h:a
sed '1e id' x
sed 's/a/b/e' x
sed 's/a/id/ge' x
sed 'w out' x
sed 's/a/b/w out' x
sed 'r /etc/passwd' x
sed -f x y
sed -e p -e '1e' x
sed --expression='e id' x
sed --file=x y
sed 'p;e' x
sed '/a/{e' x
sed -nf x y
sed 's/[/]/e;s/]/y/' x
sed 's,a,b,;e id' x
sed '$!e' x
sed 'R x' y
sed 'W x' y
sed '1,/x/e id' y
sed 'a x' y
sed 's/a\/b/e/e' x
git -c core.pager=id status
git -ccore.pager=id status
git --config-env=a=b status
git --exec-path=. status
git --git-dir=x status
git --work-tree=/ status
git -p log
git --paginate log
git --namespace=x log
git --no-pager -c a=b log
git -C sub -c a=b log
git diff --ext-diff
git diff --ext
git log --textconv -p
git diff --output=x
git log --outp x
git show --show-signature
git grep -O x
git grep -Oless x
git grep --open-files-in-pager=./x y
git grep --open y
git grep -nO x
git log --format='%G?'
git cat-file --textconv HEAD:a
git cat-file --filters HEAD:a
git rebase -x id main
git rebase --exec=id main
git rebase -ix id main
git init --template=./x
git foo
git difftool
git submodule foreach id
git bisect run id
git filter-branch --tree-filter id
git clone ext::sh
git fetch --upload-pack=id x
git push
git ls-remote ext::id
git help log
git hook run x
git credential fill
git --version -c x
git commit --template=/etc/passwd
git branch --format='%(signature)'
`);

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}
