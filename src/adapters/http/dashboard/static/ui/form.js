// Fields of forms: each with its label, its hint and what is wrong with it.
import { html, useEffect, useId, useRef, useState } from "../lib/html.js";
import { Icon } from "./icons.js";

/** A label around any control: `children(attributes)` gets id, aria-describedby and aria-invalid for it. */
export function Field({ label, hint, error, children, isWide, isRequired }) {
  const id = useId();
  const told = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  return html`<div class=${`field ${isWide ? "is-wide" : ""} ${error ? "is-wrong" : ""}`}>
    <label for=${id}>${label}${isRequired && html`<span class="required" aria-hidden="true"> *</span>`}</label>
    ${children({ id, "aria-describedby": told, "aria-invalid": error ? "true" : undefined, required: isRequired || undefined })}
    ${error && html`<p class="field-error" id=${`${id}-error`}>${error}</p>`}
    ${hint && html`<p class="field-hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

/** A text field; `onInput(value)`. Further attributes go to the input; `mono` is for code. */
export function TextField({ label, hint, error, value, onInput, isWide, isRequired, mono, type = "text", ...rest }) {
  return html`<${Field} ...${{ label, hint, error, isWide, isRequired }}>${(given) => html`<input class=${`input ${mono ? "mono" : ""}`} type=${type}
    value=${value} onInput=${(event) => onInput(event.currentTarget.value)} ...${given} ...${rest} />`}</${Field}>`;
}

/** A field for several lines. */
export function TextArea({ label, hint, error, value, onInput, isWide = true, isRequired, mono, rows = 4, ...rest }) {
  return html`<${Field} ...${{ label, hint, error, isWide, isRequired }}>${(given) => html`<textarea class=${`input ${mono ? "mono" : ""}`} rows=${rows} spellcheck=${!mono}
    value=${value} onInput=${(event) => onInput(event.currentTarget.value)} ...${given} ...${rest} />`}</${Field}>`;
}

/** One of several; `options` are `[value, label]` pairs. */
export function Select({ label, hint, error, value, onChange, options, isWide, isRequired, ...rest }) {
  return html`<${Field} ...${{ label, hint, error, isWide, isRequired }}>${(given) => html`<select class="input" value=${value}
    onChange=${(event) => onChange(event.currentTarget.value)} ...${given} ...${rest}>${options.map(([each, name]) => html`<option value=${each} selected=${each === value}>${name}</option>`)}</select>`}</${Field}>`;
}

/** A box to tick. */
export function Check({ label, hint, checked, onChange, ...rest }) {
  const id = useId();
  return html`<div class="check"><input type="checkbox" id=${id} checked=${checked} onChange=${(event) => onChange(event.currentTarget.checked)} aria-describedby=${hint ? `${id}-hint` : undefined} ...${rest} />
    <label for=${id}>${label}</label>${hint && html`<p class="field-hint" id=${`${id}-hint`}>${hint}</p>`}</div>`;
}

/** One of a few, side by side; `options` are `[value, label]` pairs. */
export function Choice({ label, value, onChange, options }) {
  const name = useId();
  return html`<div class="choice" role="radiogroup" aria-label=${label}>${options.map(([each, told]) => html`<label class=${each === value ? "is-on" : ""}>
    <input type="radio" name=${name} value=${each} checked=${each === value} onChange=${() => onChange(each)} />${told}</label>`)}</div>`;
}

/** A field to search by; it tells what was typed once a person pauses. `input` is a ref to it. */
export function Search({ label, placeholder, value, onSearch, input, pauseMs = 200 }) {
  const [text, setText] = useState(value);
  const timer = useRef(null);
  const told = useRef(value);
  useEffect(() => {
    // Only what came from elsewhere, such as Back, replaces what is being typed.
    if (value !== told.current) setText(value);
    told.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const tell = (next) => {
    told.current = next;
    onSearch(next);
  };
  const typed = (next) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => tell(next.trim()), pauseMs);
  };
  const pressed = (event) => {
    if (event.key === "Escape" && text) typed("");
    else if (event.key === "Escape") event.currentTarget.blur();
  };
  return html`<div class="search" role="search"><${Icon} name="search" /><input ref=${input} class="input" type="search" aria-label=${label} placeholder=${placeholder}
    value=${text} onInput=${(event) => typed(event.currentTarget.value)} onKeyDown=${pressed} autocomplete="off" spellcheck="false" /><kbd aria-hidden="true">/</kbd></div>`;
}
