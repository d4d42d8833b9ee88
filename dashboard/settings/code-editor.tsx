// A plain text field with line numbers; editing, undo and screen readers work as in any text field.

import { useRef } from "preact/hooks";

interface EditorProps {
  name: string;
  value: string;
  onInput: (value: string) => void;
  isReadOnly: boolean;
  isInvalid: boolean;
}

const MIN_LINES = 20;

export const CodeEditor = ({ name, value, onInput, isReadOnly, isInvalid }: EditorProps) => {
  const numbers = useRef<HTMLPreElement>(null);
  const lines = value.split("\n").length;
  return (
    <div class={`code-editor${isInvalid ? " invalid" : ""}`}>
      <pre ref={numbers} aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => index + 1).join("\n")}
      </pre>
      <textarea
        aria-label={name}
        aria-invalid={isInvalid}
        value={value}
        readOnly={isReadOnly}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        wrap="off"
        rows={Math.max(MIN_LINES, lines + 1)}
        onInput={(event) => onInput(event.currentTarget.value)}
        onScroll={(event) => {
          if (numbers.current !== null) numbers.current.scrollTop = event.currentTarget.scrollTop;
        }}
      />
    </div>
  );
};
