// What the pages do beyond showing themselves: a search, the contract of a
// function where its name is a link, and the section that is being read. Without
// this script none of it is there, and nothing else is missing.

"use strict";

// --------------------------------------------------------------- finding

const ORDER = ["term", "option", "function", "type", "constant", "table", "macro",
               "page", "section"];
const LITTLE = ["a", "an", "are", "do", "does", "for", "how", "in", "is", "it", "of",
                "the", "what", "where", "which"];
const MOST = 12; // results that are shown

// Neither case nor accents count.
function plain(text) {
    return text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
}

// The words of a question that say what it is about; if none does, all of them.
function wordsOf(question) {
    const words = plain(question).split(/[\s?!"]+/).filter(word => word);
    const telling = words.filter(word => !LITTLE.includes(word));
    return telling.length ? telling : words;
}

// Does one of the words of a text, or of a name, begin so?
function begins(text, word) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
        if (!/[a-z0-9]/.test(text[at - 1] || " "))
            return true;
    return false;
}

// How well a row of FOUND fits what is asked for: 0 best, Infinity not at all.
function distance([, , name, where, text], asked, words) {
    const title = plain(name);
    if (title === asked || title === "--" + asked)
        return 0;
    if (title.startsWith(asked))
        return 1;
    if (words.every(word => begins(title, word)))
        return 2;
    if (words.every(word => title.includes(word)))
        return 3;
    const all = title + " " + plain(where + " " + text);
    return words.every(word => begins(all, word)) ? 4 : Infinity;
}

// The rows of FOUND that fit, best first. Of the same fit, terms come first, then
// short names. A term that has several names comes once.
function find(query) {
    const words = wordsOf(query), asked = words.join(" ");
    if (!asked)
        return [];
    const sentences = new Set();
    return FOUND.map(row => [distance(row, asked, words), row])
        .filter(([far]) => far < Infinity)
        .sort(([far, a], [farther, b]) => far - farther
            || ORDER.indexOf(a[0]) - ORDER.indexOf(b[0])
            || a[2].length - b[2].length)
        .map(([, row]) => row)
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

// A field in the head of the page; what is found stands below it, as links.
function addSearch(base) {
    const field = element("input"), list = element("ul");
    const status = element("p"), box = element("div", "found", status, list);
    const form = element("form", "search", field, box);
    field.type = "search";
    field.placeholder = "Search";
    field.setAttribute("aria-label", "Search the book");
    field.autocomplete = "off";
    form.setAttribute("role", "search");
    status.setAttribute("role", "status");
    box.hidden = true;

    function show() {
        const rows = find(field.value), more = rows.length - MOST;
        box.hidden = !field.value.trim();
        status.textContent = !rows.length ? "Nothing found." : more > 0
            ? `${rows.length} places, the first ${MOST}:` : `${rows.length} found`;
        list.replaceChildren(...rows.slice(0, MOST).map(
            ([kind, address, name, where, text]) => {
                const link = element("a", kind, element("b", "", name), " ",
                    element("span", "", where || kind), element("small", "", text));
                link.href = base + address;
                return element("li", "", link);
            }));
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
// keyboard's focus, and at the first tap. Escape or another place takes it away.
function addContracts() {
    const defined = new Map(FOUND.filter(row => row[5]).map(row => [row[2], row]));
    const card = element("div", "card");
    let shown = null, timer = 0;
    card.id = "contract";
    card.setAttribute("role", "tooltip");
    card.hidden = true;
    document.body.append(card);

    function linkOf(event) {
        const link = event.target.closest && event.target.closest("main a[href*='#']");
        return link && !link.closest(".where, h2, h3, h4")
            && defined.has(link.hash.slice(1)) ? link : null;
    }

    function hide() {
        clearTimeout(timer);
        if (shown)
            shown.removeAttribute("aria-describedby");
        shown = null;
        card.hidden = true;
    }

    function show(link, touched) {
        const [, , , where, text, code] = defined.get(link.hash.slice(1));
        hide();
        card.replaceChildren(element("pre", "", code), element("p", "text", text),
            element("p", "", touched ? `${where}: tap again to go there` : where));
        card.hidden = false;
        link.setAttribute("aria-describedby", card.id);
        shown = link;
        const at = link.getBoundingClientRect(), room = 8;
        const width = document.documentElement.clientWidth;
        const left = Math.min(at.left, width - card.offsetWidth - room);
        const below = at.bottom + card.offsetHeight + room < window.innerHeight;
        const top = below || at.top < card.offsetHeight + room
            ? at.bottom + 4 : at.top - card.offsetHeight - 4;
        card.style.left = Math.max(room, left) + window.scrollX + "px";
        card.style.top = top + window.scrollY + "px";
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

// The list of pages is open where it stands beside the text, and else until a
// link in it is followed. The section that is being read is marked in it.
function followContents() {
    const contents = document.querySelector("nav.contents");
    if (!contents)
        return;
    const folded = contents.querySelector("details");
    const here = contents.querySelector(".here");
    const wide = window.matchMedia("(min-width: 78rem)");
    const links = [...contents.querySelectorAll("a[href^='#']")];
    const headings = links.map(link => document.getElementById(link.hash.slice(1)));
    let current = null, waiting = false;

    function mark() {
        waiting = false;
        const below = headings.findIndex(
            heading => heading.getBoundingClientRect().top > 120);
        const link = links[(below < 0 ? links.length : below) - 1] || null;
        if (link === current)
            return;
        if (current)
            current.removeAttribute("aria-current");
        current = link;
        here.textContent = link ? link.textContent : "";
        if (!link)
            return;
        link.setAttribute("aria-current", "true");
        const at = link.getBoundingClientRect(), box = contents.getBoundingClientRect();
        if (wide.matches && (at.top < box.top || at.bottom > box.bottom))
            contents.scrollTop += at.top - box.top - box.height / 2;
    }

    function unfold() {
        folded.open = wide.matches;
    }

    wide.addEventListener("change", unfold);
    unfold();
    folded.addEventListener("click", event => {
        if (event.target.closest("a"))
            unfold();
    });
    document.addEventListener("scroll", () => {
        if (!waiting)
            requestAnimationFrame(mark);
        waiting = true;
    }, { passive: true });
    mark();
}

document.documentElement.classList.add("scripted");
addSearch(document.currentScript.src.replace(/[^/]*$/, ""));
addContracts();
followContents();
