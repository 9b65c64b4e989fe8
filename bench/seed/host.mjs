// Stands in for the few names of the seed's host that its extension takes at import and that no text depends on.
const nothing = () => ({});
export const StringEnum = nothing;
export const Type = { Object: nothing, Optional: nothing, String: nothing };
export class Text {}
export class Container {}
