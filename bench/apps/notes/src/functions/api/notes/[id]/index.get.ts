import { buildValidatedResponse } from "@trellis/fn/core";
import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../../auth.ts";
import { NotePath } from "../../../../note_schemas.ts";
import { findNote } from "../../../../queries/notes.ts";

export const handler = defineApiHandler({ auth: "session", pathSchema: NotePath })(
  async function getNote({ context, path, userId }) {
    const note = await findNote(userId, path.id);
    if (note === undefined) throw new NotFoundError("There is no such note");
    return buildValidatedResponse(context, 200, note);
  },
);
