/**
 * Where a redirect may lead: a path of plain segments with its query, else the start page. Browsers drop tabs and line ends and read
 * backslashes as slashes, so that `/%09/host` or `/\host` would lead to another site.
 */
export const pathOnSite = (path: string): string => (/^(\/[\w.~-]+)+\/?(\?[\w.~%=&+-]*)?$/.test(path) ? path : '/');
