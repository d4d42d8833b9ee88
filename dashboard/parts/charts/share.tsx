// A part of a whole, as a bar. Parts may overlap, so a part may be the whole.

export const Share = ({ part, of }: { part: number; of: number }) => (
  <svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect width={of === 0 ? 0 : Math.min(100, (part / of) * 100)} height="6" />
  </svg>
);
