// A group's share of the whole cost, as a bar. Groups may overlap, so a share may be the whole.

export const Share = ({ usd, of }: { usd: number; of: number }) => (
  <svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect width={of === 0 ? 0 : Math.min(100, (usd / of) * 100)} height="6" />
  </svg>
);
