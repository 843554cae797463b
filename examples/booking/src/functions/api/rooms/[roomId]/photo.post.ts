import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { session } from "../../../../auth.ts";
import { photos } from "../../../../photos.ts";
import { findRoom } from "../../../../queries/rooms.ts";
import { RoomPath } from "../../../../schemas.ts";

const UploadForm = z.object({ url: z.string(), fields: z.record(z.string(), z.string()) });

export const handler = defineApiHandler({
  auth: session({ roles: ["admin"] }),
  pathSchema: RoomPath,
  schema: z.strictObject({ contentType: z.string() }),
  responses: { 201: UploadForm },
  openapi: { summary: "Return a form that uploads the photo of a room", tags: ["rooms"] },
})(async function postPhoto({ body, path }) {
  if (await findRoom(path.roomId) === undefined) throw new NotFoundError("No such room");
  return reply(
    201,
    await photos.createForm({ owner: path.roomId, contentType: body.contentType }),
  );
});
