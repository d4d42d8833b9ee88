// Tags and other short names as chips.

export const Tags = ({ tags, max }: { tags: readonly string[]; max: number }) =>
  tags.length === 0 ? null : (
    <span class="tags">
      {tags.slice(0, max).map((tag) => (
        <span key={tag} class="tag" title={tag}>
          {tag}
        </span>
      ))}
      {tags.length > max && (
        <span class="tag dim" title={tags.slice(max).join(", ")}>
          +{tags.length - max}
        </span>
      )}
    </span>
  );
