import "./page/page";
