/**
 * Converts a name to snake case: `NotesByNoteIdGet` becomes `notes_by_note_id_get`. Names that differ
 * in more than case have distinct results.
 */
export function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
}
