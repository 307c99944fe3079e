// The editor: CodeMirror with C, messages at their lines, and lines that cannot be
// changed around those that can.

import {EditorState, StateField, StateEffect, RangeSetBuilder} from "@codemirror/state";
import {EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter,
  drawSelection, Decoration} from "@codemirror/view";
import {history, historyKeymap, defaultKeymap, indentWithTab} from "@codemirror/commands";
import {indentUnit, indentOnInput, bracketMatching, syntaxHighlighting, HighlightStyle}
  from "@codemirror/language";
import {cpp} from "@codemirror/lang-cpp";
import {lintGutter, setDiagnostics, lintKeymap} from "@codemirror/lint";
import {search, searchKeymap, highlightSelectionMatches, openSearchPanel} from "@codemirror/search";
import {tags} from "@lezer/highlight";

const colours = HighlightStyle.define([
  {tag: [tags.keyword, tags.controlKeyword, tags.modifier], color: "var(--keyword)"},
  {tag: [tags.typeName, tags.standard(tags.typeName)], color: "var(--type)"},
  {tag: [tags.number, tags.bool, tags.character], color: "var(--number)"},
  {tag: tags.string, color: "var(--string)"},
  {tag: tags.comment, color: "var(--comment)", fontStyle: "italic"},
  {tag: [tags.meta, tags.processingInstruction], color: "var(--macro)"},
]);

const theme = EditorView.theme({
  "&": {backgroundColor: "var(--paper)", color: "var(--ink)", fontSize: "0.82rem"},
  "&.cm-focused": {outline: "2px solid var(--link)"},
  ".cm-scroller": {fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto"},
  ".cm-gutters": {backgroundColor: "var(--code)", color: "var(--faint)",
    borderRight: "1px solid var(--line)"},
  ".cm-activeLine": {backgroundColor: "transparent"},
  "&.cm-focused .cm-activeLine": {boxShadow: "inset 0 0 0 1px var(--faint)"},
  ".cm-activeLineGutter": {backgroundColor: "transparent"},
  "&.cm-focused .cm-activeLineGutter": {color: "var(--ink)", fontWeight: "600"},
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground":
    {backgroundColor: "var(--blue) !important"},
  ".cm-cursor": {borderLeftColor: "var(--ink)"},
  ".cm-fixed": {backgroundColor: "var(--code)", boxShadow: "inset 3px 0 0 var(--line)"},
  ".cm-panels": {backgroundColor: "var(--code)", color: "var(--ink)"},
  ".cm-tooltip": {backgroundColor: "var(--paper)", color: "var(--ink)",
    border: "1px solid var(--line)"},
  ".cm-diagnosticText": {whiteSpace: "pre-wrap", overflowWrap: "anywhere"},
  ".cm-tooltip-lint": {maxWidth: "min(40rem, 90vw)"},
});

const fixedLine = Decoration.line({class: "cm-fixed"});

// The part that can be changed: {from, to}, as the text changes.
const part = StateField.define({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setPart)) value = effect.value;
    if (!value || !transaction.docChanged) return value;
    return {from: transaction.changes.mapPos(value.from, -1),
      to: transaction.changes.mapPos(value.to, 1)};
  },
  provide: field => EditorView.decorations.compute([field], state => {
    const {from, to} = state.field(field) || {from: 0, to: state.doc.length};
    const marks = new RangeSetBuilder();
    for (let n = 1; n <= state.doc.lines; n++) {
      const line = state.doc.line(n);
      if (line.to < from || line.from > to) marks.add(line.from, line.from, fixedLine);
      if (from === 0 && to === state.doc.length) break;
    }
    return marks.finish();
  }),
});
const setPart = StateEffect.define();

// Selects what can be changed; if that is all, the usual command does.
function selectPart({state, dispatch}) {
  const value = state.field(part);
  if (value) dispatch(state.update({selection: {anchor: value.from, head: value.to}}));
  return Boolean(value);
}

export class Editor {
  constructor(place, {label, changed = () => {}}) {
    this.first = 1;          // the number of the first line
    this.changed = changed;
    this.label = label;
    this.view = new EditorView({parent: place, state: this.state("", null)});
  }

  state(text, changeable) {
    return EditorState.create({doc: text, extensions: [
      lineNumbers({formatNumber: n => String(n + this.first - 1)}),
      lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), history(),
      drawSelection(), indentOnInput(), bracketMatching(), highlightSelectionMatches(),
      search({top: true}), cpp(), indentUnit.of("    "), syntaxHighlighting(colours), theme,
      keymap.of([{key: "Mod-a", run: selectPart}, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap,
        indentWithTab]),
      part.init(() => changeable),
      EditorState.changeFilter.of(transaction => {
        const value = transaction.startState.field(part);
        let inside = true;
        if (value) transaction.changes.iterChanges((from, to) => {
          inside = inside && from >= value.from && to <= value.to;
        });
        return inside;
      }),
      EditorView.contentAttributes.of({"aria-label": this.label, tabindex: "0", spellcheck: "false",
        autocapitalize: "off", autocorrect: "off"}),
      EditorView.updateListener.of(update => { if (update.docChanged) this.changed(); }),
    ]});
  }

  // Shows a text; `head` and `tail` stand around it and cannot be changed.
  open(text, {head = "", tail = "", first = 1} = {}) {
    this.first = first;
    const from = head.length, to = from + text.length;
    const changeable = head || tail ? {from, to} : null;
    this.view.setState(this.state(head + text + tail, changeable));
    if (head) this.view.dispatch({selection: {anchor: to}, scrollIntoView: true});
  }

  get text() {
    const value = this.view.state.field(part);
    return value ? this.view.state.sliceDoc(value.from, value.to)
      : this.view.state.doc.toString();
  }

  // Replaces what can be changed by another text; this can be undone.
  replace(text) {
    const {from, to} = this.view.state.field(part) ||
      {from: 0, to: this.view.state.doc.length};
    this.view.dispatch({changes: {from, to, insert: text}});
  }

  // Shows messages on a file of this name at their lines, and the first error.
  say(said, file) {
    const {doc} = this.view.state, messages = messagesIn(said, file);
    const found = messages.filter(({line}) =>
      line >= this.first && line < this.first + doc.lines);
    const diagnostics = found.map(({line, column, severity, text}) => {
      const at = doc.line(line - this.first + 1);
      const from = Math.min(at.to, at.from + Math.max(0, column - 1));
      const word = this.view.state.wordAt(from);
      return {from, to: word ? word.to : Math.min(at.to, from + 1), severity,
        message: text};
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
    const error = messages.find(({severity}) => severity === "error");
    if (error) this.goTo(error.line, false);
  }

  search() { openSearchPanel(this.view); }

  // Shows a line, by its number in the file; with the cursor in it.
  goTo(line, focus = true) {
    const {doc} = this.view.state;
    const at = doc.line(Math.min(Math.max(1, line - this.first + 1), doc.lines));
    this.view.dispatch({selection: {anchor: at.from},
      effects: EditorView.scrollIntoView(at.from, {y: "center"})});
    if (focus) this.view.focus();
  }
}

// The messages in a text for a file, [{line, column, severity, text}]:
// "FILE:LINE:COLUMN: error: TEXT" of the compiler, and "FILE:LINE: TEXT" of the grader.
function messagesIn(said, file) {
  const found = [];
  for (const line of said.split("\n")) {
    const [, name, number, column, severity, text] =
      /^\s*([^\s:]+):(\d+):(?:(\d+):)? (?:(?:fatal |runtime )?(error|warning|note): )?(.*)$/
        .exec(line) || [];
    if (name === file)
      found.push({line: +number, column: +(column || 1), text,
        severity: severity === "note" ? "info" : severity || "error"});
  }
  return found;
}

// A field in which the name of a function leads to it.
export function goToFunctions(field, editor) {
  field.onchange = () => {
    const name = field.value.trim().replace(/\W/g, "");
    const at = editor.text.split("\n").findIndex(line =>
      name && new RegExp(`^\\w[^;=#]*\\b${name}\\(`).test(line));
    if (at >= 0) editor.goTo(at + 1);
  };
}
