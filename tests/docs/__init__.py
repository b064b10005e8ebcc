"""
Pages whose commands are run as they stand there, against the real program.

What a page may hold, and what is done with it:

- A block of `sh` is run by bash. A page has one shell, or several: those titled "Terminal 2" and so on. A shell keeps
  its folder and its variables from block to block, and any command that fails fails the test, unless the block is
  titled "exits with N". A block that ends in `tocsin serve` goes on running; the next block of its terminal comes after
  a Ctrl-C there.
- A block of `text` right behind it is what it prints: these lines in this order, where … stands for anything. Behind
  the comment `<!-- until it prints this -->` the block is run again and again until it does.
- A block titled with the name of a file is written to that file.
- A block behind `<!-- installs -->` is run only where `CI` is `true`; elsewhere the program under test stands for it.
- Any other block of `sh` or `python` needs a comment `<!-- not run: WHY -->`.
- `8080` and what a test says beside it stand for what is free on this machine, `EVENT_ID` and its like for the newest.
"""
