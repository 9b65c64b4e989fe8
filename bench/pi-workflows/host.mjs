// Test doubles for the few names that pi-workflows imports from its host. No text depends on them.
const nothing = () => ({});
export const StringEnum = nothing;
export const Type = { Object: nothing, Optional: nothing, String: nothing };
export class Text {}
export class Container {}
