//! How deeply a text is nested, found without recursion before anything recursive reads it.

use brush_parser::Token;

/// How often a text may open an expansion at all, whether it closes it or not: the tokenizer's
/// stack holds as many.
const MAX_OPENED: usize = 10_000;

/// Where a text's reader stands.
#[derive(Clone, Copy, PartialEq)]
enum In {
    /// `$(…)`, and what is in parentheses there.
    Paren,
    /// `${…}`
    Brace,
    /// `$[…]`
    Bracket,
    /// A double quote.
    Quote,
}

/// What a look at a text's signs tells.
pub(super) struct Seen {
    /// How deeply expansions stand in each other.
    pub depth: usize,
    /// Roughly how many words and signs there are outside of quotes and heredocs.
    pub words: usize,
}

/// Looks at the expansions of a text as the tokenizer will; `None` when no stack could hold what
/// a misreading here would mean.
pub(super) fn of_expansions(text: &str) -> Option<Seen> {
    let bytes = text.as_bytes();
    let opens = |pair: &&[u8]| pair[0] == b'$' && matches!(pair[1], b'(' | b'{' | b'[');
    if bytes.windows(2).filter(opens).count() > MAX_OPENED {
        return None;
    }
    let mut stack: Vec<In> = Vec::new();
    let (mut depth, mut deepest, mut words) = (0_usize, 0, 0);
    // Ends of the heredocs whose bodies begin on the next line.
    let mut tags: Vec<&str> = Vec::new();
    let mut at = 0;
    let skip_to = |from: usize, sign: u8, escapes: bool| {
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' if escapes => at += 1,
                byte if *byte == sign => break,
                _ => {}
            }
            at += 1;
        }
        at
    };
    while let Some(byte) = bytes.get(at).copied() {
        let top = stack.last().copied();
        let next = bytes.get(at + 1).copied();
        let quoted = top == Some(In::Quote);
        let apart = byte.is_ascii_whitespace() || b";&|()<>".contains(&byte);
        let more = next.is_some_and(|next| !next.is_ascii_whitespace());
        words += usize::from(top.is_none() && apart && more);
        let mut push = |what: In, stack: &mut Vec<In>| {
            stack.push(what);
            depth += usize::from(what != In::Quote);
            deepest = deepest.max(depth);
        };
        let mut closed = false;
        match byte {
            b'\\' => at += 1,
            b'\'' if !quoted => {
                let escapes = at > 0 && bytes[at - 1] == b'$';
                at = skip_to(at + 1, b'\'', escapes);
            }
            b'`' => at = skip_to(at + 1, b'`', true),
            b'"' if quoted => {
                stack.pop();
            }
            b'"' => push(In::Quote, &mut stack),
            b'$' => match next {
                Some(b'(') => {
                    push(In::Paren, &mut stack);
                    at += 1;
                }
                Some(b'{') => {
                    push(In::Brace, &mut stack);
                    at += 1;
                }
                Some(b'[') => {
                    push(In::Bracket, &mut stack);
                    at += 1;
                }
                _ => {}
            },
            b'(' if top == Some(In::Paren) => push(In::Paren, &mut stack),
            b')' => closed = top == Some(In::Paren),
            b'}' => closed = top == Some(In::Brace),
            b']' => closed = top == Some(In::Bracket),
            b'#' if matches!(top, None | Some(In::Paren))
                && (at == 0 || b" \t\n;&|(".contains(&bytes[at - 1])) =>
            {
                at = skip_to(at + 1, b'\n', false);
                continue;
            }
            b'<' if matches!(top, None | Some(In::Paren)) && next == Some(b'<') => {
                at += 2;
                if bytes.get(at) == Some(&b'<') {
                    at += 1;
                    continue;
                }
                let from = text.get(at..).unwrap_or_default();
                let from = from.trim_start_matches(['-', ' ', '\t']);
                let end = from.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c));
                let tag = &from[..end.unwrap_or(from.len())];
                tags.push(tag);
                at = text.len() - from.len() + tag.len();
                continue;
            }
            b'\n' if !tags.is_empty() && !quoted => {
                at = after_heredocs(text, at + 1, &tags);
                tags.clear();
                continue;
            }
            _ => {}
        }
        if closed {
            stack.pop();
            depth = depth.saturating_sub(1);
        }
        at += 1;
    }
    Some(Seen {
        depth: deepest,
        words,
    })
}

/// Where the lines after the bodies of heredocs begin.
fn after_heredocs(text: &str, mut at: usize, tags: &[&str]) -> usize {
    for tag in tags {
        let tag: String = tag.chars().filter(|c| !"\"'\\".contains(*c)).collect();
        for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
            at += line.len();
            if line.trim_end_matches('\n').trim_start_matches('\t') == tag {
                break;
            }
        }
    }
    at
}

/// What a token opens that another one closes.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Paren,
    Brace,
    If,
    Loop,
    Case,
}

/// How deeply commands stand in each other. Nothing is taken for closed that might not be.
pub(super) fn of_commands(tokens: &[Token]) -> usize {
    let mut stack: Vec<Open> = Vec::new();
    let mut deepest = 0;
    // Commands that take another one right behind them, however it goes on.
    let (mut coprocesses, mut negations) = (0, 0);
    // Whether a word here may be one of the grammar's own, and whether it may after a name.
    let (mut starts, mut named) = (true, false);
    for token in tokens {
        let (word, operator) = match token {
            Token::Operator(text, _) => (text.as_str(), true),
            Token::Word(text, _) => (text.as_str(), false),
        };
        let mut close = |what: Open| {
            if stack.last() == Some(&what) {
                stack.pop();
            }
        };
        match word {
            ")" if operator => close(Open::Paren),
            "}" if starts => close(Open::Brace),
            "fi" if starts => close(Open::If),
            "done" if starts => close(Open::Loop),
            "esac" if starts => close(Open::Case),
            "(" if operator => stack.push(Open::Paren),
            "{" if starts => stack.push(Open::Brace),
            "if" if starts => stack.push(Open::If),
            "for" | "while" | "until" | "select" if starts => stack.push(Open::Loop),
            "case" if starts => stack.push(Open::Case),
            _ => {}
        }
        negations = match word {
            "!" => negations + 1,
            "(" => negations,
            _ => 0,
        };
        coprocesses += usize::from(word == "coproc");
        deepest = deepest.max(stack.len() + negations + coprocesses);
        let redirects = operator && word.starts_with(['<', '>']);
        let own = starts
            && matches!(
                word,
                "if" | "then"
                    | "else"
                    | "elif"
                    | "while"
                    | "until"
                    | "do"
                    | "{"
                    | "!"
                    | "time"
                    | "-p"
                    | "}"
                    | "fi"
                    | "done"
                    | "esac"
            );
        let names = word == "coproc" || word == "function";
        starts = (operator && !redirects) || own || names || std::mem::take(&mut named);
        named = names;
    }
    deepest
}
