import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../../auth.ts";
import { photos } from "../../../../photos.ts";
import { findPhoto } from "../../../../queries/rooms.ts";
import { RoomPath } from "../../../../schemas.ts";

export const handler = defineApiHandler({
  // anybody may call it; the page may send its cookies
  auth: session({ optional: true }),
  pathSchema: RoomPath,
  openapi: { summary: "Redirect to the photo of a room", tags: ["rooms"], successStatus: 302 },
})(async function getPhoto({ path }) {
  const key = await findPhoto({ roomId: path.roomId });
  if (key === undefined) throw new NotFoundError("The room has no photo");
  const Location = await photos.createDownloadUrl({ key });
  return reply(302, undefined, { headers: { Location } });
});
