import { existsSync } from 'node:fs';

const PLACES = ['chromium', 'chromium-browser', 'chromium-headless-shell', 'google-chrome'].map(
  name => `/usr/bin/${name}`,
);

/** The browser that the tests drive: `SLUICE_CHROMIUM`, else one that is installed. Throws if there is none. */
export function findChromium(): string {
  const given = process.env.SLUICE_CHROMIUM;
  const found = given ? [given].find(existsSync) : PLACES.find(existsSync);
  if (found !== undefined) return found;
  const looked = given ? `SLUICE_CHROMIUM names ${given}, which does not exist` : `none of ${PLACES.join(', ')} exists`;
  throw new Error(
    `BROWSER MISSING: ${looked}. Nothing was tested in a browser.\n` +
      'Install one (Debian, Ubuntu: apt-get install chromium), or set SLUICE_CHROMIUM to the executable of Chromium or Chrome.',
  );
}
