// A signal lamp: clear, caution or stop, by colour and by shape.

export type Aspect = "clear" | "caution" | "stop" | "dark" | "done";

const SHAPES: Record<Aspect, preact.JSX.Element> = {
  clear: <circle cx="6" cy="6" r="4.5" class="lamp-fill" />,
  caution: <path d="M6 1.2 11 10.4H1Z" class="lamp-fill" />,
  stop: <rect x="1.6" y="1.6" width="8.8" height="8.8" rx="1" class="lamp-fill" />,
  dark: <circle cx="6" cy="6" r="3.8" class="lamp-ring" />,
  done: <path d="m2 6.4 2.8 2.8L10.2 3" class="lamp-ring" />,
};

export const Lamp = ({ aspect, isLit = false }: { aspect: Aspect; isLit?: boolean }) => (
  <svg class={`lamp lamp-${aspect}${isLit ? " lamp-lit" : ""}`} viewBox="0 0 12 12" aria-hidden="true">
    {SHAPES[aspect]}
  </svg>
);
