// What the pages do beyond showing themselves: a search, the contract of a
// function where its name is a link, blanks for numbers, and the section that is
// being read. Without this script none of it is there, and nothing else is missing.

"use strict";

// --------------------------------------------------------------- finding

const KINDS = { term: 2, option: 1.5, function: 1.3, type: 1.2 }; // they come first
const LITTLE = ["a", "an", "and", "are", "by", "do", "does", "for", "how", "in", "is", "it",
                "of", "the", "to", "we", "what", "where", "which", "why"];
const MOST = 16; // results that are shown

let index = null, rows = []; // once the texts are there

// Neither case nor accents count.
function plain(text) {
    return text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
}

// A word as it is looked up: "divided" and "dividing" are one.
function stem(word) {
    const lower = plain(word).replace("√", "sqrt");
    return lower.length > 5 ? lower.replace(/(?:ing|ed|es|e|s)$/, "") : lower;
}

const cut = text => text.replaceAll("√", " √ ").split(/[\s\p{P}<>|`]+/u);

// The words of a question that say what it is about; if none does, all of them.
function wordsOf(question) {
    const words = question.split(/[\s?!"]+/).filter(word => word);
    const telling = words.filter(word => !LITTLE.includes(word.toLowerCase()));
    return (telling.length ? telling : words).join(" ");
}

// A formula of a lab as it is read: $\\sqrt{d_k}$ is √d_k.
const readable = text => text.replace(/\$+([^$]+)\$+/g, (_, formula) =>
    formula.replaceAll("\\sqrt", "√").replace(/\\[a-zA-Z]+ ?|[{}\\]/g, ""));

// What MiniSearch makes of all names and texts. A section is in both lists.
function indexAll() {
    const texts = new Set(TEXTS.map(([address]) => address));
    rows = FOUND.filter(([kind, address]) => kind !== "section" || !texts.has(address));
    rows.push(...TEXTS.map(([address, title, where, text]) =>
        ["section", address, title, where, readable(text)]));
    index = new MiniSearch({ fields: ["name", "text"], processTerm: stem, tokenize: cut });
    index.addAll(rows.map(([, , name, where, text], id) =>
        ({ id, name, text: where + " " + text })));
}

// The sentence of a text that has most of the words.
function sentenceWith(text, words) {
    const count = sentence => words.filter(word => plain(sentence).includes(word)).length;
    return text.split(/(?<=[.:;?!]) | · /).reduce((best, sentence) =>
        count(sentence) > count(best) ? sentence : best, "");
}

// The rows that have all words of a query, or words that begin with them, best first: those
// whose name is the query, then those with its words in their name. If there are none, those
// with similar words. A term that has several names comes once.
function find(query) {
    const asked = wordsOf(query), sentences = new Set();
    const isName = ({ id }) => (rows[id][2] === asked) + [asked, "--" + asked].some(
        name => plain(name) === plain(rows[id][2]));
    const look = {
        combineWith: "AND", prefix: true, boost: { name: 6 },
        boostDocument: id => KINDS[rows[id][0]] || 1,
    };
    let hits = index && asked ? index.search(asked, look) : [];
    if (index && !hits.length)
        hits = index.search(asked, { ...look, fuzzy: 0.2 });
    return hits.sort((a, b) => isName(b) - isName(a)
        || (isName(a) ? a.id - b.id : b.score - a.score))
        .map(({ id, terms }) => {
            const [kind, address, name, where, text] = rows[id];
            return [kind, address, name, where, kind === "section"
                ? sentenceWith(text, terms) : text];
        })
        .filter(([kind, , , , text]) => kind !== "term"
            || !sentences.has(text) && sentences.add(text));
}

// ------------------------------------------------------------- the pages

// <tag class="name">, with text or elements in it
function element(tag, name, ...inside) {
    const made = document.createElement(tag);
    if (name)
        made.className = name;
    made.append(...inside);
    return made;
}

const TOUCHED = matchMedia("(hover: none)").matches; // there are no keys, and no mouse
const loading = new Map(), BASE = document.currentScript.src.replace(/assets\/[^/]*$/, "");

// A script beside the pages, which is loaded when it is first needed.
function load(name) {
    if (!loading.has(name))
        loading.set(name, new Promise(done => {
            const script = element("script");
            script.src = BASE + name;
            script.addEventListener("load", done);
            document.head.append(script);
        }));
    return loading.get(name);
}

// What is said of a thing that is found: for a function it is HTML, with its formulas.
function said(kind, text) {
    const shown = element("small");
    shown[kind === "function" ? "innerHTML" : "textContent"] = text;
    return shown;
}

// A field in the head of the page; what is found stands below it, as links.
function addSearch() {
    const field = element("input"), list = element("ul");
    const status = element("p"), box = element("div", "found", status, list);
    const form = element("form", "search", field, box);
    field.type = "search";
    field.placeholder = TOUCHED ? "Search" : "Search: press /";
    field.setAttribute("aria-label", "Search the book");
    field.autocomplete = "off";
    form.setAttribute("role", "search");
    status.setAttribute("role", "status");
    box.hidden = true;

    function show() {
        const found = find(field.value);
        box.hidden = !field.value.trim();
        status.textContent = !index ? "Loading the index." : !found.length ? "Nothing found."
            : `${found.length} found`;
        list.replaceChildren(...found.slice(0, MOST).map(
            ([kind, address, name, where, text]) => {
                const link = element("a", kind, element("b", "", name), " ",
                    element("span", "", where || kind), said(kind, text));
                link.href = BASE + address;
                return element("li", "", link);
            }));
    }

    // These files are large, so they are loaded when the field is first used.
    function fetchTexts() {
        Promise.all(["names.js", "texts.js", "assets/minisearch.js"].map(load))
            .then(() => { indexAll(); show(); });
    }

    // The field and the links below it, for the arrow keys.
    function move(step) {
        const stops = [field, ...list.querySelectorAll("a")];
        const at = stops.indexOf(document.activeElement) + step;
        if (stops[at])
            stops[at].focus();
    }

    field.addEventListener("input", show);
    field.addEventListener("focus", show);
    field.addEventListener("focus", fetchTexts, { once: true });
    form.addEventListener("submit", event => {
        event.preventDefault();
        const first = list.querySelector("a");
        if (first)
            first.click();
    });
    form.addEventListener("keydown", event => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step) {
            event.preventDefault();
            move(step);
        } else if (event.key === "Escape") {
            field.value = "";
            box.hidden = true;
            field.focus();
        }
    });
    list.addEventListener("click", () => { box.hidden = true; });
    form.addEventListener("focusout", event => {
        if (event.relatedTarget && !form.contains(event.relatedTarget))
            box.hidden = true;
    });
    document.addEventListener("click", event => {
        if (!form.contains(event.target))
            box.hidden = true;
    });
    document.addEventListener("keydown", event => {
        const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
        if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
            event.preventDefault();
            field.focus();
        }
    });
    document.querySelector("header").append(form);
}

// What a name stands for, beside a link that leads to it: under the mouse, at the
// keyboard's focus, and at the first tap. Escape or a click elsewhere takes it away.
function addContracts() {
    const card = element("div", "card");
    let defined = null, shown = null, timer = 0;
    card.id = "contract";
    card.setAttribute("role", "tooltip");
    card.hidden = true;
    document.body.append(card);

    function linkOf(event) {
        const link = event.target.closest?.("main a");
        return link && /^#\w+$/.test(link.hash) && link.closest("pre, a:has(code)")
            && !link.closest(".where, dt, h2, h3, h4") ? link : null;
    }

    function hide() {
        clearTimeout(timer);
        if (shown)
            shown.removeAttribute("aria-describedby");
        shown = null;
        card.hidden = true;
    }

    function place(link) {
        const at = link.getBoundingClientRect(), room = 8;
        const width = document.documentElement.clientWidth;
        const left = Math.min(at.left, width - card.offsetWidth - room);
        const below = at.bottom + card.offsetHeight + room < window.innerHeight;
        const top = below || at.top < card.offsetHeight + room
            ? at.bottom + 4 : at.top - card.offsetHeight - 4;
        card.style.left = Math.max(room, left) + window.scrollX + "px";
        card.style.top = top + window.scrollY + "px";
    }

    async function show(link, touched) {
        hide();
        shown = link;
        await load("names.js");
        defined ||= new Map(FOUND.filter(row => row[5]).map(row => [BASE + row[1], row]));
        const row = defined.get(link.href);
        if (!row && touched)
            location.href = link.href;
        if (!row || shown !== link)
            return;
        const [kind, , , where, text, code] = row;
        card.replaceChildren(element("pre", "", code), said(kind, text),
            element("p", "", touched ? `${where}: tap again to go there` : where));
        card.hidden = false;
        link.setAttribute("aria-describedby", card.id);
        place(link);
    }

    document.addEventListener("pointerover", event => {
        if (event.pointerType !== "mouse" || card.contains(event.target))
            return clearTimeout(timer);
        const link = linkOf(event);
        clearTimeout(timer);
        if (link !== shown)
            timer = setTimeout(() => link ? show(link) : hide(), 250);
    });
    document.addEventListener("focusin", event => {
        const link = linkOf(event);
        if (link && link.matches(":focus-visible"))
            show(link);
        else
            hide();
    });
    document.addEventListener("click", event => {
        const link = linkOf(event);
        if (link && link !== shown && event.pointerType === "touch") {
            event.preventDefault();
            show(link, true);
        } else if (!card.contains(event.target)) {
            hide();
        }
    });
    document.addEventListener("keydown", event => {
        if (event.key === "Escape")
            hide();
    });
}

// The number that a text stands for, such as -1/2 or 0.25; NaN for any other text.
function numberOf(text) {
    const plainer = text.trim().replace(/[−–]/g, "-").replace(",", ".");
    const found = /^([-+]?(?:\d+\.?\d*|\.\d+))(?:\/(\d+))?$/.exec(plainer);
    return found ? found[1] / (found[2] || 1) : NaN;
}

// Is it the number? A rounded one may differ by one in its last digit.
function isNumber(typed, number) {
    const digits = number.includes("/") ? 0 : (number.split(".")[1] || "").length;
    const room = digits < 2 ? 1e-6 : 1.01 / 10 ** digits;
    return Math.abs(numberOf(typed) - numberOf(number)) < room;
}

// What is said about a number that was typed into a blank: "" if it is right.
function judge(typed, answer, usual) {
    if (isNumber(typed, answer))
        return "";
    const mistake = usual.find(([wrong]) => isNumber(typed, wrong));
    return mistake ? mistake[1] : Number.isNaN(numberOf(typed))
        ? "type a number, such as -1/2 or 0.25" : "not yet";
}

// A blank becomes a field. A right number is accepted as it is typed; a wrong one is
// answered when the field is left, below the paragraph.
function addField(blank, said) {
    const answer = blank.textContent, usual = JSON.parse(blank.dataset.usual);
    const field = element("input");
    field.size = 4;
    field.autocomplete = "off";
    field.setAttribute("aria-label", "the missing number");

    function check(event) {
        const typed = field.value.trim(), wrong = typed && judge(typed, answer, usual);
        field.classList.toggle("right", Boolean(typed) && !wrong);
        said.textContent = wrong && event.type === "change" ? `${typed}: ${wrong}` : "";
    }

    field.addEventListener("input", check);
    field.addEventListener("change", check);
    blank.dataset.answer = answer;
    blank.replaceChildren(field);
}

// The fields of all blanks, and a button that fills in those of a section.
function addBlanks() {
    const blanks = [...document.querySelectorAll(".blank")];
    for (const paragraph of new Set(blanks.map(blank => blank.closest("p")))) {
        const said = element("p", "said");
        said.setAttribute("role", "status");
        paragraph.after(said);
        for (const blank of paragraph.querySelectorAll(".blank"))
            addField(blank, said);
    }
    for (const section of document.querySelectorAll("section[id$='-by-hand']")) {
        const button = element("button", "", "Fill in all numbers");
        button.type = "button";
        button.addEventListener("click", () => {
            for (const blank of section.querySelectorAll(".blank"))
                blank.replaceChildren(blank.dataset.answer);
            button.remove();
        });
        section.append(button);
    }
}

// The list of pages, where a button opens it, is open until a link in it is followed, or
// another place is touched. The section that is being read is marked in it.
function followContents() {
    const contents = document.querySelector("nav.contents");
    if (!contents)
        return;
    const links = [...contents.querySelectorAll("a[href^='#']")];
    const headings = links.map(link => document.getElementById(link.hash.slice(1)));
    let current = null, waiting = false;

    function mark() {
        waiting = false;
        const link = links.filter((_, i) => { // an edition may hide it
            const box = headings[i].getClientRects()[0];
            return box && box.top <= 120;
        }).pop() || null;
        if (link === current)
            return;
        if (current)
            current.removeAttribute("aria-current");
        current = link;
        if (!link)
            return;
        link.setAttribute("aria-current", "true");
        const at = link.getBoundingClientRect(), box = contents.getBoundingClientRect();
        if (at.top < box.top || at.bottom > box.bottom)
            contents.scrollTop += at.top - box.top - box.height / 2;
    }

    const list = contents.querySelector("details"), wide = matchMedia("(min-width: 70rem)");
    list.open = wide.matches;
    wide.addEventListener("change", () => { list.open = wide.matches; });
    document.addEventListener("click", event => {
        if (!wide.matches && (event.target.closest("a") || !contents.contains(event.target)))
            list.open = false;
    });
    document.addEventListener("scroll", () => {
        if (!waiting)
            requestAnimationFrame(mark);
        waiting = true;
    }, { passive: true });
    mark();
}

// ----------------------------------------------------------- the editions

// Keeps a choice, if one is given; returns the last one. The browser may refuse to keep any.
function editionKept(choice) {
    try {
        if (choice)
            localStorage.setItem("edition", choice);
        return localStorage.getItem("edition");
    } catch (refused) {
        return null;
    }
}

// The heading of a section.
function headingOf(hash) {
    return document.querySelector(`[id="${hash.slice(1)}"] > :is(h1, h2, h3, h4)`);
}

// Unfolds what the address leads to.
function unfoldTarget() {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name && document.getElementById(name);
    if (!target)
        return;
    for (let box = target; box; box = box.parentElement)
        if (box.matches("details.fold, details.box"))
            box.open = true;
    if (headingOf(location.hash)?.offsetHeight === 0) // nothing but folds
        for (const fold of target.querySelectorAll(":scope > .fold"))
            fold.open = true;
    target.scrollIntoView();
}

// Folds what the edition leaves out.
function showEdition(edition) {
    for (const box of document.querySelectorAll("details:is(.fold, .box)"))
        box.open = edition === "full";
    document.documentElement.dataset.edition = edition;
    for (const button of document.querySelectorAll(".editions button"))
        button.setAttribute("aria-pressed", button.value === edition);
    for (const link of document.querySelectorAll("nav.contents a[href^='#']"))
        link.parentElement.hidden = !headingOf(link.hash).offsetHeight;
}

// How long an edition of the page takes to read: 200 words a minute, or 15 lines.
function minutesOf(edition) {
    let minutes = 0;
    for (const part of document.querySelectorAll("main :is(p, li, dd, td, pre):not(:has(p, pre))"))
        if (!part.closest(edition === "full" ? "details:not(.fold, .box)" : "details"))
            minutes += part.matches("pre") ? part.textContent.split("\n").length / 15
                : part.textContent.split(/\s+/).length / 200;
    return Math.round(minutes);
}

// The buttons below the title of a page on which something folds.
function addEditions() {
    for (const button of document.querySelectorAll(".editions button")) {
        button.append(`, ${minutesOf(button.value)} min`);
        button.addEventListener("click", () => {
            editionKept(button.value);
            showEdition(button.value);
        });
    }
    showEdition(editionKept() || "short");
    unfoldTarget();
    window.addEventListener("hashchange", unfoldTarget);
}

// ------------------------------------------------------------- the panels

// A matrix of the live page in the text, which is loaded when the reader comes near it. It
// says how high it is. What the first one has unpacked is handed to the others.
function addPanels() {
    const frames = [], unpacked = {};
    for (const place of document.querySelectorAll(".panel")) {
        const frame = element("iframe"), state = place.dataset.state;
        frame.title = "The same in the running model";
        frame.loading = "lazy";
        frame.src = `${BASE}live.html#${/\bpanel\b/.test(state) ? state : state + "&panel"}`;
        place.append(element("p", "", /view=decoding/.test(state) ? "Try it: press Next word."
            : `Try it: ${TOUCHED ? "tap" : "click"} a number or a color to see where it comes `
                + "from. Most can be changed."), frame);
        frames.push(frame);
    }
    window.addEventListener("message", ({ source, data }) => {
        const frame = frames.find(one => one.contentWindow === source);
        if (frame && data === "unpacked?")
            source.postMessage({ unpacked }, "*");
        else if (frame && data.unpacked)
            Object.assign(unpacked, data.unpacked);
        else if (frame && data.height) {
            frame.style.height = `${data.height + 2}px`; // with its border
            frame.classList.add("there");
        }
    });
}

// --------------------------------------------------------- the start page

// A cell of the map: its color says what its number says. docs/book/weave/pages.py writes
// the map of the first sentence in the same way.
function weightCell(weight) {
    const cell = element("td", "", weight.toFixed(2));
    cell.style.setProperty("--share", weight.toFixed(4));
    return cell;
}

function wordHead(scope, word) {
    const head = element("th", "", element("span", "", word));
    head.scope = scope;
    head.lang = scope === "row" ? "fr" : "";
    return head;
}

// The map of a sentence, {looked, wrote, weights}: a row for each word that is written.
function drawMap(table, { looked, wrote, weights }) {
    table.tHead.classList.toggle("upright", looked.some(word => word.length > 5));
    table.tHead.replaceChildren(element("tr", "", element("td"),
        ...looked.map(word => wordHead("col", word))));
    table.tBodies[0].replaceChildren(...weights.map((row, i) =>
        element("tr", "", wordHead("row", wrote[i]), ...row.map(weightCell))));
}

// A number and the lines that made it are marked together, whichever is pointed at. `lines`
// says of each line whether it makes a cell, a row or all, and what it does.
function linkLines(demo, lines) {
    const table = demo.querySelector(".map"), said = demo.querySelector(".said");
    const code = [...demo.querySelectorAll(".lines code > span")];
    let at = [1, 2];

    function mark(makes, line) {
        const [row, column] = at;
        [...table.tBodies[0].rows].forEach((tr, i) => [...tr.cells].slice(1).forEach((td, j) =>
            td.classList.toggle("made", makes === "all" || i === row && (makes === "row" || j === column))));
        code.forEach((span, n) => span.classList.toggle("made",
            line === undefined ? lines[n].makes === "cell" : lines[n].said === lines[line].said));
    }

    function point(event) {
        const cell = event.target.closest("td"), line = code.findIndex(span => span.contains(event.target));
        if (cell && table.tBodies[0].contains(cell)) {
            at = [cell.parentElement.rowIndex - 1, cell.cellIndex - 1];
            const [row, head] = [cell.parentElement, table.tHead.rows[0]].map(tr => tr.cells);
            mark("cell");
            said.textContent = `To write “${row[0].textContent}”, the model looks at `
                + `“${head[cell.cellIndex].textContent}” with a weight of ${cell.textContent}. The marked lines made it.`;
        } else if (line >= 0 && lines[line].said) {
            mark(lines[line].makes, line);
            said.textContent = lines[line].said;
        }
    }

    demo.addEventListener("pointerover", point);
    demo.addEventListener("click", point);
    demo.addEventListener("focusin", point);
}

// The page holds three sentences and their maps. Others go to the live page, which is loaded
// out of sight, and answers in the same form.
function addMap() {
    const demo = document.querySelector(".demo");
    if (!demo)
        return;
    const { sentences, words, lines } = JSON.parse(demo.querySelector("script").textContent);
    const [field, said, written] = ["input", ".said", ".written"].map(one => demo.querySelector(one));
    const buttons = [...demo.querySelectorAll(".choose button")], explained = said.textContent;
    const tokens = text => text.toLowerCase().replaceAll("?", " ?").match(/\S+/g) || [];
    const keyOf = words => words.filter(word => word !== "<end>").join(" ");
    const known = new Map(sentences.map(one => [keyOf(one.looked), one]));
    let frame = null, there = false;

    function ask(sentence) {
        said.textContent = "The model is being loaded, 2 MB.";
        if (there)
            frame.contentWindow.postMessage({ sentence }, "*");
        if (frame)
            return;
        frame = element("iframe");
        frame.hidden = true;
        frame.src = `${BASE}live.html#panel=map`;
        demo.append(frame);
    }

    function show() {
        const asked = tokens(field.value), key = asked.join(" "), one = known.get(key);
        const unknown = asked.find(word => !words.includes(word));
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", one === sentences[i]));
        if (unknown || !key)
            said.textContent = unknown ? `The model does not know “${unknown}”: it has learned `
                + `${words.length} words.` : "Type a sentence of words that the model knows.";
        else if (!one)
            ask(key);
        else {
            drawMap(demo.querySelector(".map"), one);
            written.textContent = keyOf(one.wrote);
            said.textContent = explained;
        }
    }

    function suggest() { // words that the last one may become
        const [, before, begun] = /^(.*?)(\S*)$/.exec(field.value.toLowerCase());
        demo.querySelector("datalist").replaceChildren(...words.filter(word =>
            begun && word.startsWith(begun) && word !== begun).map(word => new Option(before + word)));
    }

    let timer = 0;
    field.addEventListener("input", suggest);
    field.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(show, 400);
    });
    demo.querySelector("form").addEventListener("submit", event => {
        event.preventDefault();
        show();
    });
    buttons.forEach((button, i) => button.addEventListener("click", () => {
        field.value = keyOf(sentences[i].looked);
        show();
    }));
    window.addEventListener("message", ({ source, data }) => {
        if (!frame || source !== frame.contentWindow || !data.weights)
            return;
        there = true;
        known.set(tokens(data.sentence).join(" "), data);
        show();
    });
    linkLines(demo, lines);
}

document.documentElement.classList.add("scripted");
addSearch();
addMap();
addEditions();
addPanels();
addContracts();
addBlanks();
followContents();
