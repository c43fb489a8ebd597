var e=globalThis,t=e.ShadowRoot&&(e.ShadyCSS===void 0||e.ShadyCSS.nativeShadow)&&`adoptedStyleSheets`in Document.prototype&&`replace`in CSSStyleSheet.prototype,n=Symbol(),r=new WeakMap,i=class{constructor(e,t,r){if(this._$cssResult$=!0,r!==n)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,n=this.t;if(t&&e===void 0){let t=n!==void 0&&n.length===1;t&&(e=r.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),t&&r.set(n,e))}return e}toString(){return this.cssText}},a=e=>new i(typeof e==`string`?e:e+``,void 0,n),o=(e,...t)=>new i(e.length===1?e[0]:t.reduce((t,n,r)=>t+(e=>{if(!0===e._$cssResult$)return e.cssText;if(typeof e==`number`)return e;throw Error(`Value passed to 'css' function must be a 'css' function result: `+e+`. Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.`)})(n)+e[r+1],e[0]),e,n),s=(n,r)=>{if(t)n.adoptedStyleSheets=r.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(let t of r){let r=document.createElement(`style`),i=e.litNonce;i!==void 0&&r.setAttribute(`nonce`,i),r.textContent=t.cssText,n.appendChild(r)}},c=t?e=>e:e=>e instanceof CSSStyleSheet?(e=>{let t=``;for(let n of e.cssRules)t+=n.cssText;return a(t)})(e):e,{is:l,defineProperty:u,getOwnPropertyDescriptor:ee,getOwnPropertyNames:te,getOwnPropertySymbols:ne,getPrototypeOf:re}=Object,ie=globalThis,ae=ie.trustedTypes,oe=ae?ae.emptyScript:``,se=ie.reactiveElementPolyfillSupport,ce=(e,t)=>e,le={toAttribute(e,t){switch(t){case Boolean:e=e?oe:null;break;case Object:case Array:e=e==null?e:JSON.stringify(e)}return e},fromAttribute(e,t){let n=e;switch(t){case Boolean:n=e!==null;break;case Number:n=e===null?null:Number(e);break;case Object:case Array:try{n=JSON.parse(e)}catch{n=null}}return n}},ue=(e,t)=>!l(e,t),de={attribute:!0,type:String,converter:le,reflect:!1,useDefault:!1,hasChanged:ue};Symbol.metadata??=Symbol(`metadata`),ie.litPropertyMetadata??=new WeakMap;var d=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=de){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let n=Symbol(),r=this.getPropertyDescriptor(e,n,t);r!==void 0&&u(this.prototype,e,r)}}static getPropertyDescriptor(e,t,n){let{get:r,set:i}=ee(this.prototype,e)??{get(){return this[t]},set(e){this[t]=e}};return{get:r,set(t){let a=r?.call(this);i?.call(this,t),this.requestUpdate(e,a,n)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??de}static _$Ei(){if(this.hasOwnProperty(ce(`elementProperties`)))return;let e=re(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(ce(`finalized`)))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(ce(`properties`))){let e=this.properties,t=[...te(e),...ne(e)];for(let n of t)this.createProperty(n,e[n])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[e,n]of t)this.elementProperties.set(e,n)}this._$Eh=new Map;for(let[e,t]of this.elementProperties){let n=this._$Eu(e,t);n!==void 0&&this._$Eh.set(n,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let n=new Set(e.flat(1/0).reverse());for(let e of n)t.unshift(c(e))}else e!==void 0&&t.push(c(e));return t}static _$Eu(e,t){let n=t.attribute;return!1===n?void 0:typeof n==`string`?n:typeof e==`string`?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let n of t.keys())this.hasOwnProperty(n)&&(e.set(n,this[n]),delete this[n]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return s(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,n){this._$AK(e,n)}_$ET(e,t){let n=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,n);if(r!==void 0&&!0===n.reflect){let i=(n.converter?.toAttribute===void 0?le:n.converter).toAttribute(t,n.type);this._$Em=e,i==null?this.removeAttribute(r):this.setAttribute(r,i),this._$Em=null}}_$AK(e,t){let n=this.constructor,r=n._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let e=n.getPropertyOptions(r),i=typeof e.converter==`function`?{fromAttribute:e.converter}:e.converter?.fromAttribute===void 0?le:e.converter;this._$Em=r;let a=i.fromAttribute(t,e.type);this[r]=a??this._$Ej?.get(r)??a,this._$Em=null}}requestUpdate(e,t,n,r=!1,i){if(e!==void 0){let a=this.constructor;if(!1===r&&(i=this[e]),n??=a.getPropertyOptions(e),!((n.hasChanged??ue)(i,t)||n.useDefault&&n.reflect&&i===this._$Ej?.get(e)&&!this.hasAttribute(a._$Eu(e,n))))return;this.C(e,t,n)}!1===this.isUpdatePending&&(this._$ES=this._$EP())}C(e,t,{useDefault:n,reflect:r,wrapped:i},a){n&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,a??t??this[e]),!0!==i||a!==void 0)||(this._$AL.has(e)||(this.hasUpdated||n||(t=void 0),this._$AL.set(e,t)),!0===r&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[e,t]of this._$Ep)this[e]=t;this._$Ep=void 0}let e=this.constructor.elementProperties;if(e.size>0)for(let[t,n]of e){let{wrapped:e}=n,r=this[t];!0!==e||this._$AL.has(t)||r===void 0||this.C(t,void 0,n,r)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(e=>e.hostUpdate?.()),this.update(t)):this._$EM()}catch(t){throw e=!1,this._$EM(),t}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(e){}firstUpdated(e){}};d.elementStyles=[],d.shadowRootOptions={mode:`open`},d[ce(`elementProperties`)]=new Map,d[ce(`finalized`)]=new Map,se?.({ReactiveElement:d}),(ie.reactiveElementVersions??=[]).push(`2.1.2`);var fe=globalThis,pe=e=>e,me=fe.trustedTypes,he=me?me.createPolicy(`lit-html`,{createHTML:e=>e}):void 0,ge=`$lit$`,f=`lit$${Math.random().toFixed(9).slice(2)}$`,_e=`?`+f,ve=`<${_e}>`,p=document,ye=()=>p.createComment(``),be=e=>e===null||typeof e!=`object`&&typeof e!=`function`,xe=Array.isArray,Se=e=>xe(e)||typeof e?.[Symbol.iterator]==`function`,Ce=`[ 	
\f\r]`,we=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,Te=/-->/g,Ee=/>/g,m=RegExp(`>|${Ce}(?:([^\\s"'>=/]+)(${Ce}*=${Ce}*(?:[^ \t\n\f\r"'\`<>=]|("|')|))|$)`,`g`),De=/'/g,Oe=/"/g,ke=/^(?:script|style|textarea|title)$/i,h=(e=>(t,...n)=>({_$litType$:e,strings:t,values:n}))(1),g=Symbol.for(`lit-noChange`),_=Symbol.for(`lit-nothing`),Ae=new WeakMap,v=p.createTreeWalker(p,129);function je(e,t){if(!xe(e)||!e.hasOwnProperty(`raw`))throw Error(`invalid template strings array`);return he===void 0?t:he.createHTML(t)}var Me=(e,t)=>{let n=e.length-1,r=[],i,a=t===2?`<svg>`:t===3?`<math>`:``,o=we;for(let t=0;t<n;t++){let n=e[t],s,c,l=-1,u=0;for(;u<n.length&&(o.lastIndex=u,c=o.exec(n),c!==null);)u=o.lastIndex,o===we?c[1]===`!--`?o=Te:c[1]===void 0?c[2]===void 0?c[3]!==void 0&&(o=m):(ke.test(c[2])&&(i=RegExp(`</`+c[2],`g`)),o=m):o=Ee:o===m?c[0]===`>`?(o=i??we,l=-1):c[1]===void 0?l=-2:(l=o.lastIndex-c[2].length,s=c[1],o=c[3]===void 0?m:c[3]===`"`?Oe:De):o===Oe||o===De?o=m:o===Te||o===Ee?o=we:(o=m,i=void 0);let ee=o===m&&e[t+1].startsWith(`/>`)?` `:``;a+=o===we?n+ve:l>=0?(r.push(s),n.slice(0,l)+ge+n.slice(l)+f+ee):n+f+(l===-2?t:ee)}return[je(e,a+(e[n]||`<?>`)+(t===2?`</svg>`:t===3?`</math>`:``)),r]},Ne=class e{constructor({strings:t,_$litType$:n},r){let i;this.parts=[];let a=0,o=0,s=t.length-1,c=this.parts,[l,u]=Me(t,n);if(this.el=e.createElement(l,r),v.currentNode=this.el.content,n===2||n===3){let e=this.el.content.firstChild;e.replaceWith(...e.childNodes)}for(;(i=v.nextNode())!==null&&c.length<s;){if(i.nodeType===1){if(i.hasAttributes())for(let e of i.getAttributeNames())if(e.endsWith(ge)){let t=u[o++],n=i.getAttribute(e).split(f),r=/([.?@])?(.*)/.exec(t);c.push({type:1,index:a,name:r[2],strings:n,ctor:r[1]===`.`?Ie:r[1]===`?`?Le:r[1]===`@`?Re:b}),i.removeAttribute(e)}else e.startsWith(f)&&(c.push({type:6,index:a}),i.removeAttribute(e));if(ke.test(i.tagName)){let e=i.textContent.split(f),t=e.length-1;if(t>0){i.textContent=me?me.emptyScript:``;for(let n=0;n<t;n++)i.append(e[n],ye()),v.nextNode(),c.push({type:2,index:++a});i.append(e[t],ye())}}}else if(i.nodeType===8){if(i.data===_e)c.push({type:2,index:a});else{let e=-1;for(;(e=i.data.indexOf(f,e+1))!==-1;)c.push({type:7,index:a}),e+=f.length-1}}a++}}static createElement(e,t){let n=p.createElement(`template`);return n.innerHTML=e,n}};function y(e,t,n=e,r){if(t===g)return t;let i=r===void 0?n._$Cl:n._$Co?.[r],a=be(t)?void 0:t._$litDirective$;return i?.constructor!==a&&(i?._$AO?.(!1),a===void 0?i=void 0:(i=new a(e),i._$AT(e,n,r)),r===void 0?n._$Cl=i:(n._$Co??=[])[r]=i),i!==void 0&&(t=y(e,i._$AS(e,t.values),i,r)),t}var Pe=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:n}=this._$AD,r=(e?.creationScope??p).importNode(t,!0);v.currentNode=r;let i=v.nextNode(),a=0,o=0,s=n[0];for(;s!==void 0;){if(a===s.index){let t;s.type===2?t=new Fe(i,i.nextSibling,this,e):s.type===1?t=new s.ctor(i,s.name,s.strings,this,e):s.type===6&&(t=new ze(i,this,e)),this._$AV.push(t),s=n[++o]}a!==s?.index&&(i=v.nextNode(),a++)}return v.currentNode=p,r}p(e){let t=0;for(let n of this._$AV)n!==void 0&&(n.strings===void 0?n._$AI(e[t]):(n._$AI(e,n,t),t+=n.strings.length-2)),t++}},Fe=class e{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,n,r){this.type=2,this._$AH=_,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=n,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=y(this,e,t),be(e)?e===_||e==null||e===``?(this._$AH!==_&&this._$AR(),this._$AH=_):e!==this._$AH&&e!==g&&this._(e):e._$litType$===void 0?e.nodeType===void 0?Se(e)?this.k(e):this._(e):this.T(e):this.$(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==_&&be(this._$AH)?this._$AA.nextSibling.data=e:this.T(p.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:n}=e,r=typeof n==`number`?this._$AC(e):(n.el===void 0&&(n.el=Ne.createElement(je(n.h,n.h[0]),this.options)),n);if(this._$AH?._$AD===r)this._$AH.p(t);else{let e=new Pe(r,this),n=e.u(this.options);e.p(t),this.T(n),this._$AH=e}}_$AC(e){let t=Ae.get(e.strings);return t===void 0&&Ae.set(e.strings,t=new Ne(e)),t}k(t){xe(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,r,i=0;for(let a of t)i===n.length?n.push(r=new e(this.O(ye()),this.O(ye()),this,this.options)):r=n[i],r._$AI(a),i++;i<n.length&&(this._$AR(r&&r._$AB.nextSibling,i),n.length=i)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let t=pe(e).nextSibling;pe(e).remove(),e=t}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},b=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,n,r,i){this.type=1,this._$AH=_,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=i,n.length>2||n[0]!==``||n[1]!==``?(this._$AH=Array(n.length-1).fill(new String),this.strings=n):this._$AH=_}_$AI(e,t=this,n,r){let i=this.strings,a=!1;if(i===void 0)e=y(this,e,t,0),a=!be(e)||e!==this._$AH&&e!==g,a&&(this._$AH=e);else{let r=e,o,s;for(e=i[0],o=0;o<i.length-1;o++)s=y(this,r[n+o],t,o),s===g&&(s=this._$AH[o]),a||=!be(s)||s!==this._$AH[o],s===_?e=_:e!==_&&(e+=(s??``)+i[o+1]),this._$AH[o]=s}a&&!r&&this.j(e)}j(e){e===_?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??``)}},Ie=class extends b{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===_?void 0:e}},Le=class extends b{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==_)}},Re=class extends b{constructor(e,t,n,r,i){super(e,t,n,r,i),this.type=5}_$AI(e,t=this){if((e=y(this,e,t,0)??_)===g)return;let n=this._$AH,r=e===_&&n!==_||e.capture!==n.capture||e.once!==n.once||e.passive!==n.passive,i=e!==_&&(n===_||r);r&&this.element.removeEventListener(this.name,this,n),i&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH==`function`?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},ze=class{constructor(e,t,n){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=n}get _$AU(){return this._$AM._$AU}_$AI(e){y(this,e)}},Be={M:ge,P:f,A:_e,C:1,L:Me,R:Pe,D:Se,V:y,I:Fe,H:b,N:Le,U:Re,B:Ie,F:ze},Ve=fe.litHtmlPolyfillSupport;Ve?.(Ne,Fe),(fe.litHtmlVersions??=[]).push(`3.3.3`);var He=(e,t,n)=>{let r=n?.renderBefore??t,i=r._$litPart$;if(i===void 0){let e=n?.renderBefore??null;r._$litPart$=i=new Fe(t.insertBefore(ye(),e),e,void 0,n??{})}return i._$AI(e),i},Ue=globalThis,x=class extends d{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=He(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return g}};x._$litElement$=!0,x.finalized=!0,Ue.litElementHydrateSupport?.({LitElement:x});var We=Ue.litElementPolyfillSupport;We?.({LitElement:x}),(Ue.litElementVersions??=[]).push(`4.2.2`);var S=e=>(t,n)=>{n===void 0?customElements.define(e,t):n.addInitializer(()=>{customElements.define(e,t)})},Ge={attribute:!0,type:String,converter:le,reflect:!1,hasChanged:ue},Ke=(e=Ge,t,n)=>{let{kind:r,metadata:i}=n,a=globalThis.litPropertyMetadata.get(i);if(a===void 0&&globalThis.litPropertyMetadata.set(i,a=new Map),r===`setter`&&((e=Object.create(e)).wrapped=!0),a.set(n.name,e),r===`accessor`){let{name:r}=n;return{set(n){let i=t.get.call(this);t.set.call(this,n),this.requestUpdate(r,i,e,!0,n)},init(t){return t!==void 0&&this.C(r,void 0,e,t),t}}}if(r===`setter`){let{name:r}=n;return function(n){let i=this[r];t.call(this,n),this.requestUpdate(r,i,e,!0,n)}}throw Error(`Unsupported decorator location: `+r)};function C(e){return(t,n)=>typeof n==`object`?Ke(e,t,n):((e,t,n)=>{let r=t.hasOwnProperty(n);return t.constructor.createProperty(n,e),r?Object.getOwnPropertyDescriptor(t,n):void 0})(e,t,n)}function w(e){return C({...e,state:!0,attribute:!1})}var qe=(e,t,n)=>(n.configurable=!0,n.enumerable=!0,Reflect.decorate&&typeof t!=`object`&&Object.defineProperty(e,t,n),n);function Je(e,t){return(n,r,i)=>{let a=t=>t.renderRoot?.querySelector(e)??null;if(t){let{get:e,set:t}=typeof r==`object`?n:i??(()=>{let e=Symbol();return{get(){return this[e]},set(t){this[e]=t}}})();return qe(n,r,{get(){let n=e.call(this);return n===void 0&&(n=a(this),(n!==null||this.hasUpdated)&&t.call(this,n)),n}})}return qe(n,r,{get(){return a(this)}})}}var Ye=e=>(...t)=>({_$litDirective$:e,values:t}),Xe=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,n){this._$Ct=e,this._$AM=t,this._$Ci=n}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}},{I:Ze}=Be,Qe={},$e=(e,t=Qe)=>e._$AH=t,et=Ye(class extends Xe{constructor(){super(...arguments),this.key=_}render(e,t){return this.key=e,t}update(e,[t,n]){return t!==this.key&&($e(e),this.key=t),n}}),tt=o`
  :host {
    --ground: light-dark(#f6f7f8, #101418);
    --raised: light-dark(#ffffff, #171c22);
    --sunken: light-dark(#eef0f2, #0c1013);
    --text: light-dark(#1b2229, #e3e8ec);
    --quiet: light-dark(#56616c, #9aa6b1);
    --line: light-dark(#dfe3e7, #29313a);
    --edge: light-dark(#c3cad1, #3d4853);
    --accent: light-dark(#0b6679, #5cc3d8);
    --on-accent: light-dark(#ffffff, #08212a);
    --tint: light-dark(#e1f0f3, #12303a);
    --heat: light-dark(#c4e3ea, #17495a);
    --good: light-dark(#1f6e3c, #6fcf93);
    --bad: light-dark(#b3261e, #ff8f86);
    --warn: light-dark(#8a5300, #f0b45b);
    --radius: 5px;
    --s1: 4px;
    --s2: 8px;
    --s3: 12px;
    --s4: 16px;
    --s5: 24px;
    --s6: 32px;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
    background: var(--ground);
    color: var(--text);
    font: 400 0.875rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    font-variant-numeric: tabular-nums;
  }
`,T=o`
  :host {
    display: block;
    min-width: 0;
  }
  :host([hidden]) {
    display: none;
  }
  * {
    box-sizing: border-box;
  }
  h1,
  h2,
  h3,
  p,
  dl,
  dd,
  ul,
  ol,
  pre,
  figure {
    margin: 0;
    padding: 0;
  }
  h1 {
    font-size: 1.375rem;
    font-weight: 600;
    letter-spacing: -0.01em;
    line-height: 1.3;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 0.9375rem;
    font-weight: 600;
    line-height: 1.4;
  }
  a {
    color: var(--accent);
    text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
    text-underline-offset: 0.2em;
  }
  a:hover {
    text-decoration-color: currentcolor;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
    border-radius: var(--radius);
  }
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
    background: var(--raised);
    border: 1px solid var(--edge);
    border-radius: var(--radius);
    padding: var(--s1) var(--s3);
    min-height: 2rem;
    max-width: 100%;
  }
  button {
    cursor: pointer;
    white-space: nowrap;
  }
  button:hover:not(:disabled) {
    border-color: var(--quiet);
  }
  button:disabled {
    color: var(--quiet);
    cursor: default;
  }
  button[aria-pressed="true"],
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
  }
  input::placeholder,
  textarea::placeholder {
    color: var(--quiet);
    opacity: 1;
  }
  code,
  pre,
  .mono {
    font-family: var(--mono);
    font-size: 0.9286em;
  }
  pre {
    padding: var(--s3);
    overflow: auto;
    background: var(--sunken);
    border-radius: var(--radius);
    line-height: 1.5;
  }
  .quiet {
    color: var(--quiet);
  }
  .good {
    color: var(--good);
  }
  .bad {
    color: var(--bad);
  }
  .warn {
    color: var(--warn);
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: calc(2 * var(--radius));
    padding: var(--s4);
    min-width: 0;
  }
  .stack {
    display: flex;
    flex-direction: column;
    gap: var(--s4);
  }
  .stack.tight {
    gap: var(--s2);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--s2) var(--s3);
  }
  .row.between {
    justify-content: space-between;
  }
  .columns {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
    gap: var(--s4);
    align-items: start;
  }
  .facts {
    display: flex;
    flex-wrap: wrap;
    gap: var(--s1) var(--s5);
  }
  .facts > div {
    display: flex;
    gap: var(--s2);
    align-items: baseline;
  }
  .facts dt {
    color: var(--quiet);
    white-space: nowrap;
  }
  .segments {
    display: inline-flex;
  }
  .segments button {
    border-radius: 0;
    margin-inline-start: -1px;
  }
  .segments button:first-child {
    border-start-start-radius: var(--radius);
    border-end-start-radius: var(--radius);
    margin: 0;
  }
  .segments button:last-child {
    border-start-end-radius: var(--radius);
    border-end-end-radius: var(--radius);
  }
  .failure {
    border-inline-start: 3px solid var(--bad);
    background: var(--sunken);
    padding: var(--s3) var(--s4);
    border-radius: var(--radius);
    display: flex;
    flex-direction: column;
    align-items: start;
    gap: var(--s2);
    overflow-wrap: anywhere;
  }
  .empty {
    padding: var(--s5) 0;
    color: var(--quiet);
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;function E(e,t,n,r){var i=arguments.length,a=i<3?t:r===null?r=Object.getOwnPropertyDescriptor(t,n):r,o;if(typeof Reflect==`object`&&typeof Reflect.decorate==`function`)a=Reflect.decorate(e,t,n,r);else for(var s=e.length-1;s>=0;s--)(o=e[s])&&(a=(i<3?o(a):i>3?o(t,n,a):o(t,n))||a);return i>3&&a&&Object.defineProperty(t,n,a),a}var nt=class extends x{constructor(...e){super(...e),this.copies=[],this.done=``}static{this.styles=[T,o`
      :host {
        display: inline-block;
      }
      button {
        font-size: 0.8125rem;
        min-height: 1.75rem;
        padding: 0 var(--s2);
      }
    `]}render(){return h`<span class="row" role="group" aria-label="Copy as">
      <span class="quiet" aria-hidden="true">Copy as</span>
      ${this.copies.map(e=>h`<button title=${e.text} @click=${()=>void this.copy(e)}>${this.done===e.name?`✓ `:``}${e.name}</button>`)}
      <span class="hidden" role="status">${this.done&&`${this.done} copied`}</span>
    </span>`}async copy({name:e,text:t}){await rt(t),this.done=e,setTimeout(()=>this.done=``,2e3)}};E([C({attribute:!1})],nt.prototype,`copies`,void 0),E([w()],nt.prototype,`done`,void 0),nt=E([S(`mooring-copy`)],nt);async function rt(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var it=new Intl.NumberFormat(`en-US`,{maximumFractionDigits:1}),at=[``,`Ki`,`Mi`,`Gi`,`Ti`,`Pi`];function D(e){return it.format(e)}function O(e,t){return`${D(e)} ${t}${e===1?``:`s`}`}function k(e,t){return e===`cpu`?D(t/1e3):ct(e)?lt(t):D(t)}var ot={n:1e-9,u:1e-6,m:.001,"":1,k:1e3,M:1e6,G:1e9,T:0xe8d4a51000,P:0x38d7ea4c68000,E:0xde0b6b3a7640000,Ki:1024,Mi:2**20,Gi:2**30,Ti:2**40,Pi:2**50,Ei:2**60};function st(e,t){let[,n=``,r=``]=/^([-+.\deE]*\d)([a-zA-Z]*)$/.exec(t)??[];return Number(n)*(ot[r]??NaN)*(e===`cpu`?1e3:1)}function ct(e){return/^(memory|ephemeral-storage|hugepages-)/.test(e)}function lt(e){let t=Math.min(at.length-1,Math.max(0,Math.floor(Math.log2(Math.abs(e)||1)/10)));return`${D(e/1024**t)}${at[t]}`}function ut(e){return e===void 0?``:dt(parseFloat(e))}function dt(e){return e<.001?`${D(Math.round(e*1e6))} µs`:e<1?`${D(e*1e3)} ms`:e<120?`${D(Math.round(e*10)/10)} s`:e<7200?`${D(Math.floor(e/60))} min`:e<172800?`${D(Math.floor(e/3600))} h`:`${D(Math.floor(e/86400))} d`}function A(e,t=Date.now()){if(!e)return``;let n=(t-Date.parse(e))/1e3;return n<1?`now`:dt(Math.floor(n))}function j(e,t){let n=e.nodes[t];return n.slice(0,n.length-e.suffix.length)}function ft({raw:e,normalized:t}){return e.every(t=>t===e[0])&&t.every(e=>e===t[0])}function pt(e,t){let n=e.verdicts[t]??0,r=new Set(n?[n]:[]),{nodes:i,verdicts:a}=e.rejections;for(let e=mt(i,t);i[e]===t;e++)r.add(a[e]);return Array.from(r,t=>e.distinct[t])}function M(e,t){let n=mt(e.scored,t);return e.scored[n]===t?n:-1}function mt(e,t){let n=0,r=e.length;for(;n<r;){let i=n+r>>1;e[i]<t?n=i+1:r=i}return n}var ht={NodeResourcesFit:[[/Too many pods/,`Nodes are at their limit of pods: add a node, or raise maxPods of the kubelet.`],[/Insufficient (\S+)/,`Add a node with enough $1, lower the request, or see what holds $1 now.`]],NodeAffinity:[[/./,`Label a node as the pod's nodeSelector or node affinity asks, or correct the pod.`]],TaintToleration:[[/not-ready|unreachable|disk-pressure|memory-pressure/,`Repair the nodes: their taint says that they are not healthy.`],[/./,`Add the toleration to the pod, or remove the taint from a node.`]],NodeUnschedulable:[[/./,`Uncordon a node: kubectl uncordon NODE.`]],NodePorts:[[/./,`The host port is taken: drop hostPort, or add a node where it is free.`]],NodeName:[[/./,`spec.nodeName names another node: remove it from the pod.`]],InterPodAffinity:[[/existing pods/,`A running pod's anti-affinity keeps this pod away: check pods with anti-affinity to its labels.`],[/anti-affinity/,`More replicas than places: add a node or zone, or make the anti-affinity preferred.`],[/./,`No pod matches the affinity on a node with room: check its labels and topologyKey.`]],PodTopologySpread:[[/missing/,`Label the nodes with the constraint's topologyKey.`],[/./,`Add room in the emptiest zone, raise maxSkew, or use whenUnsatisfiable: ScheduleAnyway.`]],VolumeBinding:[[/unbound immediate/,`Bind the PersistentVolumeClaim, or use a StorageClass with WaitForFirstConsumer.`],[/not found|non-existent/,`Create the PersistentVolumeClaim or volume that the pod names.`],[/./,`Add a node where the claim's volume can be: its zone or host is fixed by the volume.`]],VolumeZone:[[/./,`Add a node in the volume's zone.`]],NodeVolumeLimits:[[/./,`Nodes have as many volumes attached as they take: add a node.`]],VolumeRestrictions:[[/./,`Another pod uses the volume exclusively: wait for it, or use ReadWriteMany.`]],DynamicResources:[[/./,`No free device satisfies the claim: add devices, or relax the claim's selectors.`]],SchedulingGates:[[/./,`Whoever set the pod's schedulingGates has to remove them.`]],DefaultPreemption:[[/./,`Raise the pod's priority, or make room by hand.`]]},gt=`See the plugin's reason; what it needs is in its documentation.`;function _t(e,t){for(let[n,r]of ht[e??``]??[]){let e=n.exec(t??``);if(e)return r.replaceAll(`$1`,e[1]??``)}return gt}function vt(e,t){return pt(e,t).flatMap(({plugin:n=``,reasons:r=[``]})=>r.map(r=>({plugin:n,reason:r,figures:xt(e,t,r),step:_t(n,r)})))}function yt(e){let t,[n,r]=[1/0,1/0];for(let i=0;i<e.nodes.length;i++){let a=pt(e,i).length,o=a&&a<=n?bt(e,i):1/0;a&&(a<n||a===n&&o<r)&&([t,n,r]=[i,a,o])}return t}function bt(e,t){return e.resources.map(({requested:e,free:n})=>e?Math.max(0,e-n[t])/e:0).reduce((e,t)=>e+t,0)}function xt(e,t,n){let r=/^Too many pods/.test(n)?`pods`:/^Insufficient (\S+)/.exec(n)?.[1],i=e.resources.find(e=>e.name===r);if(!i)return``;let a=i.free[t];return`${`needs ${k(i.name,i.requested)}, has ${k(i.name,Math.max(0,a))} left`}: ${k(i.name,i.requested-a)} short`}var St=4,Ct=8,wt={int8:(e,t,n)=>new Int8Array(e,t,n),uint8:(e,t,n)=>new Uint8Array(e,t,n),int16:(e,t,n)=>new Int16Array(e,t,n),uint16:(e,t,n)=>new Uint16Array(e,t,n),int32:(e,t,n)=>new Int32Array(e,t,n),uint32:(e,t,n)=>new Uint32Array(e,t,n),float64:(e,t,n)=>new Float64Array(e,t,n)};function Tt(e){if(e.byteLength<St)throw Error(`columns: ${e.byteLength} bytes are too few for a header`);let t=new DataView(e).getUint32(0,!0),n=St+t;if(n>e.byteLength)throw Error(`columns: the header of ${t} bytes is cut off`);let r=JSON.parse(new TextDecoder().decode(new Uint8Array(e,St,t))),i=Math.ceil(n/Ct)*Ct,a=new Map;for(let{name:t,dtype:n,shape:o,offset:s}of r.arrays){let r=wt[n];if(!r)throw Error(`columns: array ${t} has the unknown type ${n}`);let c=o.reduce((e,t)=>e*t,1);try{a.set(t,r(e,i+s,c))}catch{throw Error(`columns: array ${t} of ${c} ${n} at ${s} lies outside the answer`)}}return{header:r,arrays:a}}function Et(e){let t=e.length>1?e[0]:``;for(let n of e)for(;!n.endsWith(t)||n===t;){let e=t.indexOf(`.`,1);if(e<0)return``;t=t.slice(e)}return t}var Dt=new Uint32Array;function Ot(e){let{header:t,arrays:n}=Tt(e),r=e=>n.get(e)??Dt,i=new Uint8Array(t.nodes.length),a=e=>r(e).length?r(e):i;return{made:t.made,decision:t.decision,differences:t.differences??[],pod:t.pod,assigned:t.assigned,provenance:t.provenance,verdict:t.verdict,seed:BigInt(t.seed),nodes:t.nodes,suffix:Et(t.nodes),distinct:t.distinct,verdicts:r(`verdicts`),scored:r(`scored`),plugins:t.plugins.map(({name:e,weight:t},n)=>({name:e,weight:t,raw:r(`raw.${n}`),normalized:r(`normalized.${n}`)})),selected:t.selected,ties:r(`ties`),rejections:{nodes:r(`rejections.nodes`),verdicts:r(`rejections.verdicts`)},resources:t.resources.map(({name:e,requested:t},n)=>({name:e,requested:t,free:a(`free.${n}`)})),warnings:t.warnings,evaluated:t.evaluated,feasible:t.feasible}}function kt(e,t,n,r){let i=M(e,n),a=M(e,r);return i<0||a<0?[]:e.plugins.map(({name:e,normalized:n},r)=>{let o=t[r],[s,c]=[n[i]*o,n[a]*o];return{plugin:e,first:s,second:c,lead:s-c}}).sort((e,t)=>Math.abs(t.lead)-Math.abs(e.lead))}var At=3;function jt(e){let t=Mt(e),n=[...(e.decision?.rejectingPlugins??[]).filter(e=>t.has(e)),...t.keys()],r=e.nodes.length;return[...new Set(n)].map(e=>{let n=[...t.get(e).values()].sort((e,t)=>t.count-e.count),i=n.reduce((e,t)=>e+t.count,0);return r-=i,{plugin:e,rejected:i,left:r,reasons:n}})}function Mt(e){let t=new Map;return e.verdicts.forEach((n,r)=>{if(!n)return;let{plugin:i=``,reasons:a=[]}=e.distinct[n],o=a.join(`, `),s=t.get(i)??new Map;t.set(i,s);let c=s.get(o)??{text:o,count:0,examples:[]};s.set(o,c),c.count++,c.examples.length<At&&c.examples.push(r)}),t}var N=(1n<<64n)-1n,P=128,Nt=[7640891576956012808n,13503953896175478587n,4354685564936845355n,11912009170470909681n,5840696475078001361n,11170449401992604703n,2270897969802886507n,6620516959819538809n],Pt=[`0123456789abcdef`,`ea489fd61c02b753`,`b8c052fdae367194`,`7931dcbe265a40f8`,`905724afe1bc683d`,`2c6a0b834d75fe19`,`c51fed4a0763928b`,`db7ec13950f4862a`,`6fe9b308c2d714a5`,`a2847615fb9e3cd0`,`0123456789abcdef`,`ea489fd61c02b753`].map(e=>Array.from(e,e=>parseInt(e,16))),Ft=[[0,4,8,12],[1,5,9,13],[2,6,10,14],[3,7,11,15],[0,5,10,15],[1,6,11,12],[2,7,8,13],[3,4,9,14]];function It(e,t,n){return n>1?Number(Lt(e,t)%BigInt(n)):0}function Lt(e,t){let n=new TextEncoder().encode(t),r=new Uint8Array(P*(1+Math.ceil(n.length/P)));new DataView(r.buffer).setBigUint64(0,e&N,!0),r.set(n,P);let i=[...Nt];i[0]^=BigInt(16844808);let a=P+n.length;for(let e=0;e<r.length;e+=P)Rt(i,new DataView(r.buffer,e,P),Math.min(e+P,a),e+P>=a);return i[0]}function Rt(e,t,n,r){let i=[...e,...Nt];i[12]^=BigInt(n),r&&(i[14]^=N);for(let e of Pt)Ft.forEach(([n,r,a,o],s)=>{let c=n=>t.getBigUint64(8*e[n],!0);zt(i,n,r,a,o,c(2*s),c(2*s+1))});for(let t=0;t<8;t++)e[t]^=i[t]^i[t+8]}function zt(e,t,n,r,i,a,o){let s=(a,o,s)=>{e[t]=e[t]+e[n]+a&N,e[i]=Bt(e[i]^e[t],o),e[r]=e[r]+e[i]&N,e[n]=Bt(e[n]^e[r],s)};s(a,32n,24n),s(o,16n,63n)}function Bt(e,t){return(e>>t|e<<64n-t)&N}var Vt=NaN;function Ht(e,t){let n=new Float64Array(e.nodes.length).fill(Vt),r=Wt(e,t);e.scored.forEach((e,t)=>n[e]=r[t]);let i=Uint32Array.from(e.scored).sort((e,t)=>n[t]-n[e]||e-t),a=n[i[0]??-1],o=0;for(;o<i.length&&n[i[o]]===a;)o++;let s=Array.from(i.subarray(0,o)),c=Gt(e,s);return i.set([...s].sort((e,t)=>Number(t===c)-Number(e===c))),{totals:n,order:Kt(i,n),ties:s,selected:c,runnerUp:i[o]}}function Ut(e){return e.plugins.map(e=>e.weight)}function Wt(e,t){let n=new Float64Array(e.scored.length);return e.plugins.forEach(({normalized:e},r)=>{let i=t[r];for(let t=0;t<n.length;t++)n[t]+=e[t]*i}),n}function Gt(e,t){return t.length?t[It(e.seed,e.pod.uid??``,t.length)]:e.selected}function Kt(e,t){let n=new Uint32Array(t.length);n.set(e);let r=e.length;for(let e=0;e<t.length;e++)Number.isNaN(t[e])&&(n[r++]=e);return n}var qt=new Intl.Collator(`en`,{numeric:!0});function Jt(e){return/=|^\s*!|\b(not)?in\s*\([^)]*\)/.test(e)}function Yt(e,t,n,r,i){let a=typeof i==`string`?Qt(e,i):t=>i.has(e.nodes[t]),o=Array.from(t.order).filter(a);if(n.column===`total`&&n.descending)return o;let s=Xt(e,t,n.column,r);return o.sort(n.descending?(e,t)=>s(t,e):s)}function Xt(e,{totals:t},n,r){if(n===`node`)return(t,n)=>qt.compare(e.nodes[t],e.nodes[n]);if(n===`verdict`)return(t,n)=>e.verdicts[t]-e.verdicts[n];if(n===`total`)return Zt(e=>t[e]);let i=e.plugins[Number(n.slice(7))],a=r===`raw`?i.raw:i.normalized;return Zt(t=>a[M(e,t)]??NaN)}function Zt(e){let t=t=>Number.isNaN(e(t))?-1/0:e(t);return(e,n)=>t(e)-t(n)||0}function Qt(e,t){let n=t.trim().toLowerCase();if(!n)return()=>!0;let r=e=>e.toLowerCase().includes(n),i=new Set(e.distinct.filter(({plugin:e=``,reasons:t=[]})=>r(`${e}: ${t.join(`, `)}`)));return t=>r(e.nodes[t])||pt(e,t).some(e=>i.has(e))}function $t(e,t,n){let{assigned:r}=e,i=t.selected===void 0?nn(e):en(e,t,t.selected,n);return r?`is on ${r}; today it ${i}`:i}function en(e,t,n,r){let i=`${r.some((t,n)=>t!==e.plugins[n].weight)?`would go`:`goes`} to ${j(e,n)}${e.nodes[n]===e.assigned?` too`:``}`;if(!e.plugins.length||!e.scored.length)return`${i}: ${e.feasible===1?`the only feasible node, so nothing was scored`:`no plugin scores`}.`;let a=100*r.reduce((e,t)=>e+t,0),o=[`${D(t.totals[n])} of ${D(a)} points`];return t.ties.length>1&&o.push(`${D(t.ties.length)} nodes tied, seed ${e.seed} decided`),`${i}: ${o.join(`, `)}${tn(e,t,r)}.`}function tn(e,{selected:t,runnerUp:n,totals:r},i){if(t===void 0||n===void 0)return``;let a=r[t]-r[n],o=kt(e,i,t,n).find(e=>e.lead>0);return`; ${j(e,n)} is ${D(a)} behind${o?` (${o.plugin})`:``}`}function nn(e){let t=e.decision?.nominatedNode,n=t?` Room is being made for it on ${t}.`:``;return`has no node: ${e.verdict.message||(e.verdict.reasons??[]).join(`, `)||`no node is feasible`}${n}`}function rn(e,t){let n=e.plugins.flatMap(({name:e,weight:n},r)=>t[r]===n?[]:[{name:e,weight:t[r]}]),r=n.filter(({weight:e})=>!e),i=n.filter(({weight:e})=>e);return[`apiVersion: kubescheduler.config.k8s.io/v1`,`kind: KubeSchedulerConfiguration`,`profiles:`,`- schedulerName: ${JSON.stringify(e.provenance.profile??`default-scheduler`)}`,`  plugins:`,`    score:${n.length?``:` {}`}`,...i.length?[`      enabled:`,...i.flatMap(({name:e,weight:t})=>[`      - name: ${e}`,`        weight: ${t}`])]:[],...r.length?[`      disabled:`,...r.map(({name:e})=>`      - name: ${e}`)]:[],``].join(`
`)}var F=class extends x{constructor(...e){super(...e),this.first=``,this.second=``,this.differences=[]}static{this.styles=[T,o`
      table {
        width: 100%;
        border-collapse: collapse;
      }
      th {
        font-weight: inherit;
        text-align: start;
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s2);
        vertical-align: middle;
      }
      td,
      th:nth-child(n + 2) {
        text-align: end;
      }
      tbody th {
        color: inherit;
        overflow-wrap: anywhere;
      }
      .bar {
        width: 30%;
        min-width: 5rem;
      }
      .axis {
        display: grid;
        grid-template-columns: 1fr 1fr;
        height: 10px;
        background: linear-gradient(var(--edge), var(--edge)) center / 1px 100% no-repeat;
      }
      .axis span {
        height: 100%;
        border-radius: 2px;
      }
      .ahead {
        background: var(--accent);
        justify-self: end;
      }
      .behind {
        background: var(--warn);
        grid-column: 2;
      }
      @media (max-width: 40rem) {
        .bar {
          display: none;
        }
        th,
        td {
          padding: var(--s1);
        }
      }
      tfoot td,
      tfoot th {
        border-top: 1px solid var(--line);
        font-weight: 600;
        color: inherit;
      }
    `]}render(){let e=e=>this.differences.reduce((t,n)=>t+e(n),0),t=e(e=>e.lead),n=Math.max(1,...this.differences.map(e=>Math.abs(e.lead)));return h`<div class="stack tight">
      <p>${this.verdict(t)}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            <th scope="col">${this.first}</th>
            <th scope="col" class="bar"><span class="hidden">Which node is ahead</span></th>
            <th scope="col">${this.second}</th>
            <th scope="col">Lead</th>
          </tr>
        </thead>
        <tbody>
          ${this.differences.map(e=>h`<tr>
                <th scope="row">${e.plugin}</th>
                <td>${D(e.first)}</td>
                <td class="bar">${an(e.lead/n)}</td>
                <td>${D(e.second)}</td>
                <td>${on(e.lead)}</td>
              </tr>`)}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td>${D(e(e=>e.first))}</td>
            <td class="bar"></td>
            <td>${D(e(e=>e.second))}</td>
            <td>${on(t)}</td>
          </tr>
        </tfoot>
      </table>
    </div>`}verdict(e){if(!e)return h`<strong>${this.first}</strong> and <strong>${this.second}</strong> are tied.`;let[t,n]=e>0?[this.first,this.second]:[this.second,this.first];return h`<strong>${t}</strong> is ${D(Math.abs(e))} ahead of <strong>${n}</strong>.`}};E([C()],F.prototype,`first`,void 0),E([C()],F.prototype,`second`,void 0),E([C({attribute:!1})],F.prototype,`differences`,void 0),F=E([S(`mooring-comparison`)],F);function an(e){let t=`width: ${100*Math.abs(e)}%`;return h`<span class="axis" aria-hidden="true"><span class=${e>0?`ahead`:`behind`} .style=${t}></span></span>`}function on(e){return e>0?`+${D(e)}`:e<0?`−${D(-e)}`:`0`}var sn=class extends x{constructor(...e){super(...e),this.stages=[],this.total=0}static{this.styles=[T,o`
      ol {
        list-style: none;
        display: grid;
        gap: var(--s2);
      }
      .stage {
        display: grid;
        grid-template-columns: minmax(6rem, 11rem) minmax(4rem, 1fr) auto;
        gap: 0 var(--s3);
        align-items: center;
      }
      .name {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: var(--sunken);
        display: flex;
        overflow: hidden;
      }
      .left {
        background: var(--accent);
      }
      .rejected {
        background: repeating-linear-gradient(135deg, var(--bad) 0 2px, transparent 2px 5px);
      }
      .figure {
        text-align: end;
        min-width: 3.5rem;
      }
      ul {
        grid-column: 1 / -1;
        list-style: none;
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      li button {
        all: unset;
        cursor: pointer;
        text-decoration: underline;
        text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
        text-underline-offset: 0.2em;
        overflow-wrap: anywhere;
      }
      li button:hover {
        color: var(--text);
      }
      li button:focus-visible {
        outline: 2px solid var(--accent);
      }
    `]}render(){let e=this.stages.at(-1)?.left??this.total;return h`<ol>
      <li class="stage">
        <span class="name">All nodes</span>${this.track(this.total,0)}<span class="figure">${D(this.total)}</span>
      </li>
      ${this.stages.map(e=>this.stage(e))}
      <li class="stage">
        <strong class="name">Feasible</strong>${this.track(e,0)}<strong class="figure ${e?`good`:`bad`}"
          >${e?`✓`:`✕`} ${D(e)}</strong
        >
      </li>
    </ol>`}stage({plugin:e,rejected:t,left:n,reasons:r}){return h`<li class="stage">
      <span class="name" title=${e}>${e||`mooring`}</span>
      ${this.track(n,t)}
      <span class="figure bad" title="${O(t,`node`)} rejected, ${D(n)} left">−${D(t)}</span>
      <ul>
        ${r.map(e=>h`<li>
              <button title="Show these nodes" @click=${()=>this.show(e.text)}>${e.text||`no reason given`}</button>
              ${r.length>1?h` · ${D(e.count)}`:_}
            </li>`)}
      </ul>
    </li>`}track(e,t){let n=e=>`width: ${100*e/Math.max(1,this.total)}%`;return h`<span class="track" aria-hidden="true"
      ><span class="left" .style=${n(e)}></span><span class="rejected" .style=${n(t)}></span
    ></span>`}show(e){this.dispatchEvent(new CustomEvent(`mooring-filter`,{detail:e}))}};E([C({attribute:!1})],sn.prototype,`stages`,void 0),E([C({type:Number})],sn.prototype,`total`,void 0),sn=E([S(`mooring-funnel`)],sn);var I=30,cn=4,L=class extends x{constructor(...e){super(...e),this.columns=[],this.rows=[],this.keyOf=e=>String(e),this.marksOf=()=>``,this.restOf=()=>void 0,this.label=``,this.empty=`Nothing here.`,this.first=0,this.shown=40,this.from=1,this.to=1/0,this.sized=new ResizeObserver(()=>this.measure()),this.measure=()=>{let{scrollTop:e,clientHeight:t}=this.scroller;this.shown=Math.ceil(t/I)+8,this.first=Math.max(0,Math.min(Math.floor(e/I)-cn,this.rows.length-this.shown)),this.measureColumns()}}static{this.styles=[T,o`
      .scroller {
        overflow: auto;
        max-height: var(--grid-height, 70vh);
        border: 1px solid var(--line);
        border-radius: calc(2 * var(--radius));
        background: var(--raised);
        overscroll-behavior-x: contain;
      }
      .scroller:focus-visible {
        outline-offset: -2px;
      }
      .all {
        min-width: max-content;
        position: relative;
      }
      .line {
        display: grid;
        height: 30px;
        align-items: stretch;
        contain: layout style;
      }
      .titles {
        position: sticky;
        top: 0;
        z-index: 2;
        background: var(--sunken);
        border-bottom: 1px solid var(--line);
      }
      .window {
        position: absolute;
        inset-inline: 0;
      }
      .line > * {
        padding: 0 var(--s3);
        line-height: 30px;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
        min-width: 0;
      }
      .line > :first-child {
        position: sticky;
        left: 0;
        z-index: 1;
        background: inherit;
        border-inline-end: 1px solid var(--line);
      }
      .rest {
        grid-column: 2 / -1;
      }
      .numeric {
        text-align: end;
      }
      [role="columnheader"] {
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      [role="columnheader"] button {
        all: unset;
        cursor: pointer;
        max-width: 100%;
        overflow: hidden;
        text-overflow: ellipsis;
        vertical-align: top;
      }
      [role="columnheader"] button:hover {
        color: var(--text);
      }
      [role="columnheader"] button:focus-visible {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      [aria-sort] {
        color: var(--text);
        font-weight: 600;
      }
      .body .line {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        cursor: default;
      }
      .body .line:hover {
        background: var(--sunken);
      }
      .line.selected {
        font-weight: 600;
      }
      .line.picked {
        background: var(--tint) !important;
      }
      .line.rejected .cell:first-child {
        color: var(--quiet);
      }
      .line.active {
        background: var(--sunken);
      }
      .scroller:focus-visible .line.active {
        box-shadow: inset 3px 0 var(--accent);
        background: var(--tint);
      }
      .empty {
        padding: var(--s5) var(--s4);
      }
      .heat {
        display: block;
        margin: 0 calc(-1 * var(--s3));
        padding: 0 var(--s3);
        background: linear-gradient(to left, var(--heat) var(--share), transparent var(--share));
      }
    `]}connectedCallback(){super.connectedCallback(),this.updateComplete.then(()=>this.sized.observe(this.scroller))}disconnectedCallback(){super.disconnectedCallback(),this.sized.disconnect()}updated(e){e.has(`columns`)&&this.measureColumns()}willUpdate(e){e.has(`rows`)&&(this.first=Math.max(0,Math.min(this.first,this.rows.length-this.shown)))}render(){let e=[...this.columns.map(e=>e.width),`auto`].join(` `),t=Math.min(this.rows.length,this.first+this.shown),n=this.activeIndex(this.first,t);return h`<div
      class="scroller"
      role="grid"
      tabindex="0"
      aria-label=${this.label}
      aria-rowcount=${this.rows.length+1}
      aria-colcount=${this.columns.length}
      aria-activedescendant=${n<0?_:`row-${n}`}
      @scroll=${this.measure}
      @keydown=${this.onKey}
    >
      <div class="all" role="presentation">
        <div class="titles line" role="row" aria-rowindex="1" .style=${`grid-template-columns: ${e}`}>
          ${this.columns.map(e=>this.heading(e))}
        </div>
        <div class="body" role="presentation" .style=${`height: ${this.rows.length*I}px`}>
          <div class="window" role="presentation" .style=${`top: ${(this.first+1)*I}px`}>
            ${Array.from({length:Math.max(0,t-this.first)},(t,r)=>this.line(this.first+r,e,n))}
          </div>
        </div>
      </div>
      ${this.rows.length?_:h`<p class="empty">${this.empty}</p>`}
    </div>`}reveal(e){let t=this.rows[e];if(t===void 0)return;this.activeKey=this.keyOf(t);let n=e*I,r=this.scroller.clientHeight-60;n<this.scroller.scrollTop?this.scroller.scrollTop=n:n>this.scroller.scrollTop+r&&(this.scroller.scrollTop=n-r),this.measure()}heading(e){let t=this.sorting?.column===e.id?this.sorting:void 0,n=t&&(t.descending?`descending`:`ascending`),r=t?t.descending?` ↓`:` ↑`:``;return h`<div role="columnheader" aria-colindex=${this.columns.indexOf(e)+1} class=${e.numeric?`numeric`:``} aria-sort=${n??_} title=${e.title}>
      ${e.sortable?h`<button @click=${()=>this.tell(`mooring-sort`,e.id)}>${e.title}${r}</button>`:e.title}
    </div>`}line(e,t,n){let r=this.rows[e];return h`<div
      class="line ${this.marksOf(r)} ${e===n?`active`:``}"
      role="row"
      id="row-${e}"
      aria-rowindex=${e+2}
      aria-selected=${e===n}
      .style=${`grid-template-columns: ${t}`}
      @click=${e=>this.onClick(e,r)}
    >
      ${this.columns.slice(0,1).map(e=>ln(e,r,0))} ${this.rest(r)}
    </div>`}rest(e){let t=this.restOf(e);return t?h`<div role="gridcell" class="cell rest" aria-colindex="2" aria-colspan=${this.columns.length-1}>${t}</div>`:this.columns.slice(this.from,this.to).map((t,n)=>ln(t,e,this.from+n))}activeIndex(e=0,t=this.rows.length){if(this.activeKey===void 0)return-1;for(let n=e;n<t;n++)if(this.keyOf(this.rows[n])===this.activeKey)return n;return-1}measureColumns(){let{scrollLeft:e,clientWidth:t}=this.scroller,n=Array.from(this.scroller.querySelectorAll(`[role="columnheader"]`)),r=n=>n.offsetLeft<e+t&&n.offsetLeft+n.offsetWidth>e,i=n.flatMap((e,t)=>t&&r(e)?[t]:[]);[this.from,this.to]=[i[0]??1,(i.at(-1)??n.length)+1]}onClick(e,t){e.composedPath().some(e=>e instanceof HTMLAnchorElement)||(this.activeKey=this.keyOf(t),this.tell(`mooring-open`,t))}onKey(e){if(e.target!==this.scroller)return;let t=Math.max(1,Math.floor(this.scroller.clientHeight/I)-2),n={ArrowDown:1,ArrowUp:-1,PageDown:t,PageUp:-t,Home:-1/0,End:1/0}[e.key],r=this.activeIndex(),i=this.rows[r];if(n!==void 0)this.reveal(Math.max(0,Math.min(this.rows.length-1,r+n)));else if(e.key===`Enter`&&i!==void 0)this.tell(`mooring-open`,i);else if(e.key===` `&&i!==void 0)this.tell(`mooring-pick`,i);else return;e.preventDefault()}tell(e,t){this.dispatchEvent(new CustomEvent(e,{detail:t}))}};E([C({attribute:!1})],L.prototype,`columns`,void 0),E([C({attribute:!1})],L.prototype,`rows`,void 0),E([C({attribute:!1})],L.prototype,`keyOf`,void 0),E([C({attribute:!1})],L.prototype,`marksOf`,void 0),E([C({attribute:!1})],L.prototype,`restOf`,void 0),E([C({attribute:!1})],L.prototype,`sorting`,void 0),E([C()],L.prototype,`label`,void 0),E([C()],L.prototype,`empty`,void 0),E([w()],L.prototype,`activeKey`,void 0),E([w()],L.prototype,`first`,void 0),E([w()],L.prototype,`shown`,void 0),E([w()],L.prototype,`from`,void 0),E([w()],L.prototype,`to`,void 0),E([Je(`.scroller`)],L.prototype,`scroller`,void 0),L=E([S(`mooring-grid`)],L);function ln(e,t,n){return h`<div
    role="gridcell"
    class=${e.numeric?`cell numeric`:`cell`}
    aria-colindex=${n+1}
    .style=${`grid-column: ${n+1}`}
  >
    ${e.cell(t)}
  </div>`}var R=class extends x{constructor(...e){super(...e),this.totals=new Float64Array,this.sized=new ResizeObserver(()=>this.paint()),this.scheme=matchMedia(`(prefers-color-scheme: dark)`),this.repaint=()=>this.requestUpdate()}static{this.styles=[T,o`
      canvas {
        display: block;
        width: 100%;
        height: 26px;
        border-radius: var(--radius);
        background: var(--sunken);
        image-rendering: pixelated;
        --low: var(--heat);
        --high: var(--accent);
      }
    `]}connectedCallback(){super.connectedCallback(),this.scheme.addEventListener(`change`,this.repaint),this.updateComplete.then(()=>this.sized.observe(this.canvas))}disconnectedCallback(){super.disconnectedCallback(),this.scheme.removeEventListener(`change`,this.repaint),this.sized.disconnect()}render(){return h`<canvas role="img" aria-label=${this.words()} @click=${this.onClick} height="1"></canvas>`}updated(){this.paint()}words(){let{low:e,high:t,scored:n}=this.range(),r=n?`totals from ${D(e)} to ${D(t)}`:`no totals`;return`${O(this.totals.length,`node`)}, ${D(n)} of them scored, ${r}; the table below has each`}range(){let[e,t,n]=[1/0,-1/0,0];for(let r of this.totals)Number.isNaN(r)||(n++,r<e&&(e=r),r>t&&(t=r));return{low:e,high:t,scored:n}}paint(){let e=Math.max(1,Math.min(this.totals.length,Math.round(this.canvas.clientWidth))),t=new Float64Array(e).fill(NaN);this.totals.forEach((n,r)=>{let i=Math.floor(r*e/this.totals.length);!(t[i]>=n)&&!Number.isNaN(n)&&(t[i]=n)});let{low:n,high:r}=this.range(),[i,a]=this.colours(),o=new ImageData(e,1);t.forEach((e,t)=>{if(Number.isNaN(e))return;let s=r>n?(e-n)/(r-n):1;for(let e=0;e<3;e++)o.data[4*t+e]=i[e]+s*(a[e]-i[e]);o.data[4*t+3]=255}),this.canvas.width=e,this.canvas.getContext(`2d`).putImageData(o,0,0)}colours(){let e=getComputedStyle(this.canvas);return[un(this.canvas,e,`--low`),un(this.canvas,e,`--high`)]}onClick(e){let t=Math.floor(e.offsetX/this.canvas.clientWidth*this.totals.length);this.dispatchEvent(new CustomEvent(`mooring-open`,{detail:t}))}};E([C({attribute:!1})],R.prototype,`totals`,void 0),E([C({attribute:!1})],R.prototype,`selected`,void 0),E([Je(`canvas`)],R.prototype,`canvas`,void 0),R=E([S(`mooring-strip`)],R);function un(e,t,n){e.style.color=`var(${n})`;let[r=0,i=0,a=0]=(t.color.match(/[\d.]+/g)??[]).map(Number);return e.style.color=``,[r,i,a]}var dn=10,fn=class extends x{constructor(...e){super(...e),this.plugins=[],this.weights=[]}static{this.styles=[T,o`
      .sliders {
        display: grid;
        grid-template-columns: minmax(5rem, max-content) minmax(5rem, 1fr) minmax(3rem, auto);
        gap: var(--s1) var(--s3);
        align-items: center;
        max-height: 21rem;
        overflow-y: auto;
      }
      label {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      input {
        width: 100%;
        padding: 0;
        min-height: 1.5rem;
        accent-color: var(--accent);
        background: none;
        border: 0;
      }
      output {
        text-align: end;
        white-space: nowrap;
      }
    `]}render(){return h`<div class="sliders" tabindex="0" role="group" aria-label="Weights of plugins">
      ${this.plugins.map(({name:e,weight:t},n)=>{let r=this.weights[n],i=r===t?_:h`<span class="quiet">${t} → </span>`;return h`<label for="weight-${n}" title=${e}>${e}</label>
          <input
            id="weight-${n}"
            type="range"
            min="0"
            max=${Math.max(dn,2*t)}
            .valueAsNumber=${r}
            @input=${e=>this.change(n,e.target.valueAsNumber)}
          />
          <output for="weight-${n}">${i}${r===0?`off`:`× ${r}`}</output>`})}
    </div>`}change(e,t){let n=this.weights.map((n,r)=>r===e?t:n);this.dispatchEvent(new CustomEvent(`mooring-weights`,{detail:n}))}};E([C({attribute:!1})],fn.prototype,`plugins`,void 0),E([C({attribute:!1})],fn.prototype,`weights`,void 0),fn=E([S(`mooring-weights`)],fn);var pn=[`raw`,`normalized`,`weighted`],z=class extends x{constructor(...e){super(...e),this.src=``,this.problem=``,this.weights=[],this.points=`weighted`,this.sorting={column:`total`,descending:!0},this.filter=``,this.filterProblem=``,this.pins=[],this.stages=[],this.shownColumns=[],this.rows=[]}static{this.styles=[tt,T,o`
      :host {
        background: none;
      }
      .sentence {
        font-size: 1.0625rem;
        line-height: 1.5;
        overflow-wrap: anywhere;
      }
      input[type="search"] {
        min-width: 14rem;
        flex: 1 1 14rem;
        max-width: 26rem;
      }
      mooring-grid {
        --grid-height: min(65vh, 40rem);
      }
      .legend {
        font-size: 0.8125rem;
      }
      .needs li {
        list-style: none;
        padding: var(--s2) 0;
        border-top: 1px solid var(--line);
      }
      .needs p {
        overflow-wrap: anywhere;
      }
    `]}willUpdate(e){if(e.has(`src`)&&this.src&&this.fetch(),e.has(`columns`)&&this.columns&&this.decode(this.columns),!this.matrix)return;let t=e;(t.has(`matrix`)||t.has(`weights`))&&(this.ranking=Ht(this.matrix,this.weights)),t.has(`matrix`)&&([this.stages,this.shownColumns]=[jt(this.matrix),this.gridColumns(this.matrix)]),this.rows=Yt(this.matrix,this.ranking,this.sorting,this.points,this.labelled??this.filter)}render(){if(this.problem)return h`<p class="failure" role="alert">${this.problem}</p>`;let{matrix:e}=this;return e?h`<div class="stack">
      <div class="stack tight">
        <p class="sentence">${this.verdict(e)}</p>
        ${e.differences.length?h`<p class="warn">⚠ Made again, it differs from what was decided: ${e.differences.join(`; `)}</p>`:_}
        ${e.warnings.map(e=>h`<p class="warn">⚠ ${e}</p>`)}
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="funnel">
          <h2 id="funnel">Which nodes are feasible</h2>
          <mooring-funnel
            .stages=${this.stages}
            .total=${e.nodes.length}
            @mooring-filter=${e=>void this.narrow(e.detail)}
          ></mooring-funnel>
        </section>
        ${e.plugins.length?this.weighing(e):_} ${e.scored.length?_:this.details(e)}
      </div>
      <section class="stack tight" aria-labelledby="nodes">
        ${this.toolbar(e)}
        ${e.scored.length?this.overview(e):_}
        <mooring-grid
          label="Nodes and what each plugin says"
          .columns=${this.shownColumns}
          .rows=${this.rows}
          .keyOf=${e=>e}
          .restOf=${t=>this.rejection(e,t)}
          .marksOf=${t=>this.marks(e,t)}
          .sorting=${this.sorting}
          empty="No node matches the filter."
          @mooring-sort=${e=>this.sort(e.detail)}
          @mooring-open=${e=>this.node=e.detail}
          @mooring-pick=${e=>this.pin(e.detail)}
        ></mooring-grid>
        <p class="quiet legend">
          ${D(this.rows.length)} of ${O(e.nodes.length,`node`)} · arrow keys move, Enter shows a node, Space pins it; two
          pinned nodes are compared${e.suffix?h` · names end in <span class="mono">${e.suffix}</span>`:_}
        </p>
      </section>
      ${e.scored.length?h`<div class="columns">${this.details(e)}</div>`:_}
    </div>`:h`<p class="quiet" role="status">Loading …</p>`}async fetch(){try{let e=await fetch(this.src);if(!e.ok)throw Error(`${this.src}: HTTP ${e.status}`);this.columns=await e.arrayBuffer()}catch(e){this.problem=e.message}}decode(e){try{this.matrix=Ot(e),this.weights=Ut(this.matrix),[this.problem,this.pins,this.filter,this.labelled,this.filterProblem]=[``,[],``,void 0,``],this.node=this.nearest=this.matrix.feasible?void 0:yt(this.matrix)}catch(e){this.problem=e.message}}verdict(e){let{namespace:t=``,name:n=``}=e.pod;return h`${this.ranking.selected===void 0?h`<span class="bad">✕</span>`:h`<span class="good">✓</span>`} <strong>${t}/${n}</strong> ${$t(e,this.ranking,this.weights)}`}weighing(e){let t=this.weights.some((t,n)=>t!==e.plugins[n].weight),{selected:n}=this.ranking,r=n===e.selected?`still selects`:`would select`;return h`<section class="card stack tight" aria-labelledby="weights">
      <div class="row between">
        <h2 id="weights">What if the weights were others?</h2>
        <button ?disabled=${!t} @click=${()=>this.weights=Ut(e)}>Reset</button>
      </div>
      <mooring-weights
        .plugins=${e.plugins}
        .weights=${this.weights}
        @mooring-weights=${e=>this.weights=e.detail}
      ></mooring-weights>
      <div class="row between">
        <p role="status">
          ${t&&n!==void 0?h`<strong>${r} ${j(e,n)}</strong>`:h`<span class="quiet">The weights in force</span>`}
        </p>
        ${t?h`<mooring-copy .copies=${[{name:`YAML`,text:rn(e,this.weights)}]}></mooring-copy>`:_}
      </div>
    </section>`}toolbar(e){let t=this.nodesWith?`name, reason or labels`:`name or reason`;return h`<div class="row between">
        <h2 id="nodes">${e.plugins.length?`Nodes × plugins`:`Nodes`}</h2>
        <input
          type="search"
          aria-label="Filter nodes by ${t}"
          placeholder="Filter by ${t}"
          .value=${this.filter}
          @input=${e=>void this.narrow(e.target.value)}
        />
        ${e.scored.length?this.pointsChoice():_}
      </div>
      ${this.filterProblem?h`<p class="warn" role="status">⚠ ${this.filterProblem}</p>`:_}`}async narrow(e){if([this.filter,this.filterProblem]=[e,``],!this.nodesWith||!Jt(e))this.labelled=void 0;else try{let t=await this.nodesWith(e);this.filter===e&&(this.labelled=new Set(t))}catch(t){this.filter===e&&(this.filterProblem=t.message)}}overview(e){let t=e.plugins.flatMap((e,t)=>ft(e)&&e.raw.length?[`${e.name} ${D(this.pointsOf(e,t,0))}`]:[]);return h`${t.length?h`<p class="quiet legend">Equal on all scored nodes: ${t.join(`, `)}</p>`:_}
      <mooring-strip
        .totals=${this.ranking.totals}
        @mooring-open=${e=>this.reveal(e.detail)}
      ></mooring-strip>`}pointsOf({raw:e,normalized:t},n,r){return this.points===`raw`?e[r]:t[r]*(this.points===`weighted`?this.weights[n]:1)}pointsChoice(){return h`<span class="segments" role="group" aria-label="Which scores">
      ${pn.map(e=>h`<button aria-pressed=${this.points===e} @click=${()=>this.points=e}>
            ${e[0].toUpperCase()+e.slice(1)}
          </button>`)}
    </span>`}gridColumns(e){let t=e.plugins.flatMap((t,n)=>ft(t)?[]:[{id:`plugin-${n}`,title:t.name,width:`9rem`,numeric:!0,sortable:!0,cell:t=>this.score(e,t,n)}]),n={id:`node`,title:`Node`,width:`min(14rem, 40vw)`,sortable:!0,cell:t=>this.name(e,t)},r={id:`verdict`,title:`Verdict`,width:e.scored.length?`7.5rem`:`minmax(16rem, 1fr)`,sortable:!0,cell:e=>this.verdictOf(e)};return e.scored.length?[n,{id:`total`,title:`Total`,width:`5.5rem`,numeric:!0,sortable:!0,cell:e=>this.total(e)},r,...t]:[n,r]}name(e,t){return h`${this.pins.includes(t)?h`<span class="good" title="pinned">● </span>`:_}<span title=${e.nodes[t]}>${j(e,t)}</span>`}total(e){let t=this.ranking.totals[e];return Number.isNaN(t)?``:D(t)}score(e,t,n){let r=M(e,t);if(r<0)return _;let i=e.plugins[n],a=this.pointsOf(i,n,r);return h`<span class="heat" .style=${`--share: ${i.normalized[r]}%`}>${D(a)}</span>`}rejection(e,t){let n=e.verdicts[t];if(!n)return;let{plugin:r,reasons:i}=e.distinct[n],a=`${r?`${r}: `:``}${(i??[]).join(`, `)}`;return h`<span class="bad" title=${a}>✕ ${a}</span>`}verdictOf(e){return e===this.ranking.selected?h`<span class="good">✓ selected</span>`:this.ranking.ties.includes(e)?h`✓ tied`:h`<span class="quiet">✓ feasible</span>`}marks(e,t){let n=[];return t===this.ranking.selected&&n.push(`selected`),this.pins.includes(t)&&n.push(`picked`),e.verdicts[t]&&n.push(`rejected`),n.join(` `)}details(e){let[t,n]=this.pins,r=t!==void 0&&n!==void 0;return h`${this.node===void 0?_:this.detail(e,this.node)}
    ${r?this.comparison(e,t,n):_}`}detail(e,t){let n=this.pins.includes(t),r=vt(e,t);return h`<section class="card stack tight" aria-labelledby="node">
      <div class="row between">
        <h2 id="node">${t===this.nearest?`The closest: `:_}${e.nodes[t]}</h2>
        <button aria-pressed=${n} @click=${()=>this.pin(t)}>${n?`Pinned`:`Pin to compare`}</button>
      </div>
      ${r.length?this.needs(r):this.place(e,t)} ${this.left(e,t)}
    </section>`}needs(e){return h`<p><span class="bad">✕ Rejected</span>. What it would take:</p>
      <ul class="needs">
        ${e.map(({plugin:e,reason:t,figures:n,step:r})=>h`<li>
              <p><strong>${e||`mooring`}</strong>: ${t}</p>
              ${n?h`<p>${n}</p>`:_}
              <p class="quiet">${r}</p>
            </li>`)}
      </ul>`}place(e,t){let{selected:n,totals:r,order:i}=this.ranking;if(t===n)return h`<p class="good">✓ Selected.</p>`;if(M(e,t)<0||n===void 0)return h`<p>✓ Feasible; it was not scored.</p>`;let a=r[n]-r[t],o=i.indexOf(t)+1,s=h`<button @click=${()=>this.pins=[n,t]}>Compare with ${j(e,n)}</button>`;return h`<p>✓ Feasible: place ${D(o)}, ${a?`${D(a)} behind ${j(e,n)}`:`tied`}.</p>
      <p>${s}</p>`}left(e,t){return h`<dl class="facts">
      ${e.resources.map(({name:e,requested:n,free:r})=>h`<div>
            <dt>${e}</dt>
            <dd class=${r[t]<n?`bad`:``}>
              requests ${k(e,n)}, ${k(e,Math.max(0,r[t]))} left
            </dd>
          </div>`)}
    </dl>`}comparison(e,t,n){let r=kt(e,this.weights,t,n),i=[j(e,t),j(e,n)];return h`<section class="card stack tight" aria-labelledby="comparison">
      <div class="row between">
        <h2 id="comparison">Two nodes compared</h2>
        <button @click=${()=>this.pins=[]}>Unpin both</button>
      </div>
      ${r.length?h`<mooring-comparison .first=${i[0]} .second=${i[1]} .differences=${r}></mooring-comparison>`:[t,n].map(t=>h`<p><strong>${e.nodes[t]}</strong> ${this.rejection(e,t)??this.verdictOf(t)}</p>`)}
    </section>`}pin(e){this.pins=this.pins.includes(e)?this.pins.filter(t=>t!==e):[...this.pins,e].slice(-2)}reveal(e){this.node=e,this.grid?.reveal(this.rows.indexOf(e))}sort(e){let t=this.sorting.column===e?!this.sorting.descending:e!==`node`&&e!==`verdict`;this.sorting={column:e,descending:t}}};E([C({attribute:!1})],z.prototype,`columns`,void 0),E([C()],z.prototype,`src`,void 0),E([C({attribute:!1})],z.prototype,`nodesWith`,void 0),E([w()],z.prototype,`matrix`,void 0),E([w()],z.prototype,`problem`,void 0),E([w()],z.prototype,`weights`,void 0),E([w()],z.prototype,`points`,void 0),E([w()],z.prototype,`sorting`,void 0),E([w()],z.prototype,`filter`,void 0),E([w()],z.prototype,`labelled`,void 0),E([w()],z.prototype,`filterProblem`,void 0),E([w()],z.prototype,`pins`,void 0),E([w()],z.prototype,`node`,void 0),E([Je(`mooring-grid`)],z.prototype,`grid`,void 0),z=E([S(`mooring-decision`)],z);function B(e){let[t=``,n=``]=e.replace(/^#\/?/,``).split(/\?(.*)/s);return{path:t.split(`/`).filter(Boolean).map(mn),query:new URLSearchParams(n)}}function V(e,t={}){let n=B(location.hash).query.get(`process`)??void 0,r=new URLSearchParams;for(let[e,i]of Object.entries({process:n,...t}))i&&r.set(e,i);let i=r.toString();return`#/${e.map(e=>encodeURIComponent(e)).join(`/`)}${i&&`?${i}`}`}function H(e){let{path:t,query:n}=B(location.hash),r=V(t,{...Object.fromEntries(n),...e});history.replaceState(null,``,r),dispatchEvent(new HashChangeEvent(`hashchange`))}function mn(e){try{return decodeURIComponent(e)}catch{return e}}var hn=class extends Error{constructor(e,t,n){super(e),this.code=t,this.reason=n}};async function U(e,t,n){return await(await Sn(e,xn(t),n)).json()}async function gn(e,t,n){return(await Sn(`decisions/${encodeURIComponent(e)}/columns${t?`?again=1`:``}`,{},n)).arrayBuffer()}async function _n(e,t){return(await Sn(`explain/columns`,xn(e),t)).arrayBuffer()}async function vn(e){let{processes:t}=await(await Sn(`processes`,{},e)).json();return t}function yn(e){let t=new URL(`api/v1/${e}`,document.baseURI),n=B(location.hash).query.get(`process`);return n&&t.searchParams.set(`process`,n),t.href}async function bn(e,t){return(await U(`ClusterService/ListNodes`,{labelSelector:e},t)).nodes?.names?.names??[]}function xn(e){return{method:`POST`,headers:{"content-type":`application/json`},body:JSON.stringify(e)}}async function Sn(e,t,n){let r;try{r=await fetch(yn(e),{...t,signal:n??null})}catch(e){throw n?.throwIfAborted(),new hn(`mooring web does not answer: ${e.message}`,`UNAVAILABLE`,``)}if(r.ok)return r;let i=await r.json().catch(()=>({}));throw new hn(i.message??`HTTP ${r.status}`,i.code??``,i.reason??``)}var W=class{constructor(e,t,n={}){this.host=e,this.load=t,this.options=n,this.loading=!1,this.answered=!1,this.begun=!1,this.abort=new AbortController,this.timer=0,this.whenVisible=()=>{!document.hidden&&this.options.every&&!this.loading&&this.run()},e.addController(this)}hostConnected(){document.addEventListener(`visibilitychange`,this.whenVisible)}hostUpdate(){let e=this.options.key?.();this.begun&&e===this.loadedKey||(this.value=this.error=void 0,this.answered=!1,[this.begun,this.loadedKey]=[!0,e],this.run())}hostDisconnected(){document.removeEventListener(`visibilitychange`,this.whenVisible),this.begun=!1,this.stop()}async run(){this.stop();let{signal:e}=this.abort=new AbortController;this.loading=!0;try{let t=await this.load(e);if(e.aborted)return;[this.value,this.error,this.answered]=[t,void 0,!0]}catch(t){if(e.aborted)return;this.error=t}this.loading=!1,this.host.requestUpdate();let{every:t}=this.options;t&&(this.timer=window.setTimeout(this.whenVisible,typeof t==`number`?t:t()))}show(e){return!this.answered&&!this.error?h`<p class="quiet" role="status">Loading …</p>`:h`${this.error?Tn(this.error,()=>void this.run()):_}${this.answered?e(this.value):_}`}stop(){this.abort.abort(),this.loading=!1,clearTimeout(this.timer)}},Cn={DECISION_NOT_FOUND:`The journal is bounded: the decision is forgotten, or the process was restarted since.`,DECISION_NOT_REPEATABLE:`Explain the pod as of now instead.`,CONFIGURATION_NOT_FOUND:`Only the last configurations since the start are remembered: compare with another one.`,NOT_IMPLEMENTED:`This process does not answer that: select another one, or turn the journal on.`,POD_NOT_FOUND:`The pod is gone, or not known yet.`,SESSION_EXPIRED:`The copy of the cluster is too old: start over.`,SESSION_NOT_FOUND:`The copy of the cluster ended after ten minutes without a call: start over.`,NOT_SYNCED:`The process is still reading the cluster.`,UNAVAILABLE:`The process can't be reached: is it running, and is its address right?`,RESOURCE_EXHAUSTED:`It has too much to do: wait a moment.`},wn=new Set([`DECISION_NOT_FOUND`,`DECISION_NOT_REPEATABLE`,`CONFIGURATION_NOT_FOUND`,`NOT_IMPLEMENTED`]);function Tn(e,t,n=`Try again`){let{code:r=``,reason:i=``}=e instanceof hn?e:{};return h`<div class="failure" role="alert">
    <p><strong>${e.message}</strong></p>
    <p>${Cn[i]??Cn[r]??_}</p>
    ${wn.has(i)?_:h`<button @click=${t}>${n}</button>`}
  </div>`}function G(e,t){return(e??``).replace(t,``).replaceAll(`_`,` `).toLowerCase()}function En(e){return G(e,`EXTENSION_POINT_`).replace(/(?:^| )(\w)/g,(e,t)=>t.toUpperCase())}function K(e){return`${e?.namespace??``}/${e?.name??``}`}function Dn(e){return e?.reason?`${e.plugin?`${e.plugin}: `:``}${e.reason}`:``}function On(e){if(e.result===`DECISION_RESULT_SCHEDULED`)return{mark:`✓`,text:e.node||`feasible`,tone:`good`};let t=Dn(e.dominant)||e.verdict?.message||(e.verdict?.reasons??[]).join(`, `);return e.result===`DECISION_RESULT_UNSCHEDULABLE`?{mark:`✕`,text:t,tone:`bad`}:{mark:`⚠`,text:t||G(e.result,`DECISION_RESULT_`),tone:`warn`}}function q(e){return/^[\w./:=@%+,-]+$/.test(e)?e:`'${e.replaceAll(`'`,`'\\''`)}'`}var kn=(function(){let e=typeof document<`u`&&document.createElement(`link`).relList;return e&&e.supports&&e.supports(`modulepreload`)?`modulepreload`:`preload`})(),An=function(e,t){return new URL(e,t).href},jn={},Mn=function(e){return e.pathname.endsWith(`.css`)},Nn=function(e,t,n){if(t in e)return e[t];let r=n();if(!r){e[t]=void 0;return}let i=r.then(()=>{e[t]=void 0},n=>{throw e[t]=void 0,n});return e[t]=i,i},Pn=function(e,t,n){let r=Promise.resolve();if(t&&t.length>0){let e,i=document.querySelector(`meta[property=csp-nonce]`),a=i?.nonce||i?.getAttribute(`nonce`);function o(e){return Promise.all(e.map(e=>Promise.resolve(e).then(e=>({status:`fulfilled`,value:e}),e=>({status:`rejected`,reason:e}))))}function s(e){return import.meta.resolve?new URL(import.meta.resolve(e)):new URL(e,import.meta.url)}r=o(t.map(t=>{t=An(t,n);let r=s(t),i=Mn(r);return Nn(jn,r.href,()=>{if(e===void 0){e={all:new Set,styles:new Set};let t=document.getElementsByTagName(`link`);for(let n=t.length-1;n>=0;n--){let r=t[n];e.all.add(r.href),r.rel===`stylesheet`&&e.styles.add(r.href)}}if((i?e.styles:e.all).has(r.href))return;let t=document.createElement(`link`);if(t.rel=i?`stylesheet`:kn,i||(t.as=`script`),t.crossOrigin=``,t.href=r.href,a&&t.setAttribute(`nonce`,a),document.head.appendChild(t),i)return new Promise((e,n)=>{let i=a=>{t.removeEventListener(`load`,i),t.removeEventListener(`error`,i),a.type===`error`?n(Error(`Unable to preload CSS for ${r}`)):e(a)};t.addEventListener(`load`,i),t.addEventListener(`error`,i)})})}).filter(e=>e!==void 0))}function i(e){let t=new Event(`vite:preloadError`,{cancelable:!0});if(t.payload=e,window.dispatchEvent(t),!t.defaultPrevented)throw e}return r.then(t=>{for(let e of t||[])e.status===`rejected`&&i(e.reason);return e().catch(i)})};async function Fn(e){let{load:t}=await Pn(async()=>{let{load:e}=await import(`./js-yaml.js`);return{load:e}},[],import.meta.url),n=t(e);if(typeof n!=`object`||!n)throw Error(`A manifest is expected: a Pod, or what makes pods.`);if(n.kind===`Pod`)return n;let r=n.spec?.template??(n.spec?.jobTemplate)?.spec?.template;if(!r?.spec)throw Error(`A Pod, or what makes pods, is expected, not ${n.kind??`this`}.`);let{name:i=`pod`,namespace:a=`default`}=n.metadata??{};return{apiVersion:`v1`,kind:`Pod`,metadata:{...r.metadata,name:`${i}-what-if`,namespace:a},spec:r.spec}}function In({metadata:e,spec:t}){let{podGroupName:n}=t?.schedulingGroup??{};return n?{namespace:e?.namespace??`default`,name:n}:void 0}async function Ln(e){let{dump:t}=await Pn(async()=>{let{dump:e}=await import(`./js-yaml.js`);return{dump:e}},[],import.meta.url);return t(e)}function Rn(e){let t=new TextEncoder().encode(JSON.stringify(e));return{json:btoa(Array.from(t,e=>String.fromCharCode(e)).join(``))}}async function J(e,t,n,r){let{object:i}=await U(`ClusterService/GetObject`,{kind:e,namespace:t,name:n},r),a=Uint8Array.from(atob(i?.json??``),e=>e.charCodeAt(0));return JSON.parse(new TextDecoder().decode(a))}var zn=class extends x{constructor(...e){super(...e),this.namespace=``,this.name=``,this.open=!1,this.text=new W(this,e=>this.read(e),{key:()=>`${this.namespace}/${this.name} ${this.open}`})}static{this.styles=[T]}render(){return h`<details class="card" @toggle=${e=>this.open=e.target.open}>
      <summary>Manifest, as far as scheduling reads it</summary>
      ${this.text.show(e=>h`<pre tabindex="0" aria-label="Manifest">${e}</pre>`)}
    </details>`}async read(e){return this.open?Ln(await J(`Pod`,this.namespace,this.name,e)):``}};E([C()],zn.prototype,`namespace`,void 0),E([C()],zn.prototype,`name`,void 0),E([w()],zn.prototype,`open`,void 0),zn=E([S(`mooring-manifest`)],zn);var Bn=class extends x{constructor(...e){super(...e),this.seq=``,this.again=!1,this.record=new W(this,e=>Hn(this.seq,e),{key:()=>this.seq}),this.columns=new W(this,e=>gn(this.seq,this.again,e),{key:()=>`${this.seq} ${this.again}`}),this.attempts=new W(this,e=>this.listAttempts(e),{key:()=>K(this.record.value?.pod)})}static{this.styles=[T,o`
      ol {
        list-style: none;
        display: flex;
        overflow-x: auto;
        padding: var(--s1) 0;
      }
      li {
        flex: 0 0 auto;
        border-top: 2px solid var(--edge);
        padding: var(--s2) var(--s4) 0 0;
        position: relative;
      }
      li::before {
        content: "";
        position: absolute;
        top: -6px;
        width: 10px;
        height: 10px;
        border-radius: 50%;
        background: var(--raised);
        border: 2px solid var(--edge);
      }
      li.now::before {
        background: var(--accent);
        border-color: var(--accent);
      }
      li a {
        display: block;
        max-width: 14rem;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
    `]}willUpdate(e){e.has(`seq`)&&(this.again=!1)}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Decision ${this.seq}</h1>
        <div class="row">
          <button aria-pressed=${this.again} title="Made again as of then, with every rejection of each node" @click=${()=>this.again=!this.again}>
            Make it again
          </button>
          ${this.record.value?h`<mooring-copy .copies=${this.copies(this.record.value)}></mooring-copy>`:_}
        </div>
      </div>
      ${this.record.show(e=>e?this.facts(e):_)}
      ${this.columns.show(e=>h`<mooring-decision .columns=${e} .nodesWith=${bn}></mooring-decision>`)}
      ${this.columns.error&&this.record.value?Un(this.record.value):_}
      ${this.attempts.value&&this.attempts.value.length>1?this.timeline(this.attempts.value):_}
      ${this.record.value?Wn(this.record.value):_}
    </div>`}facts(e){let{pod:t,provenance:n,node:r,queueWait:i}=e;return h`<dl class="facts">
      ${[[`Pod`,h`<a href=${V([`pods`,t?.namespace??``,t?.name??``])}>${K(t)}</a>`],[`Made`,h`<time datetime=${e.time} title=${e.time}>${A(e.time)} ago</time>`],[`Kind`,G(e.kind,`DECISION_KIND_`)],[`Node`,r?h`<a href=${V([`nodes`,r])}>${r}</a>`:``],[`Attempt`,e.attempt?D(e.attempt):``],[`Waited`,i?ut(i):``],[`Took`,ut(e.duration)],[`Profile`,h`<a href=${V([`profiles`])}>${n?.profile??``}</a>`],[`Configuration`,Vn(n?.configurationHash??``)],[`State`,`version ${n?.stateVersion??0}`],[`Trace`,e.traceId??``]].map(([e,t])=>t?h`<div><dt>${e}</dt><dd>${t}</dd></div>`:_)}
    </dl>`}copies(e){let t=e.attempt?` --attempt ${e.attempt}`:``;return[{name:`CLI`,text:`mooring explain ${q(K(e.pod))}${t}`},{name:`JSON`,text:JSON.stringify(e,void 0,2)},{name:`curl`,text:`curl -s ${q(yn(`decisions/${this.seq}/columns`))}`}]}timeline(e){return h`<section class="card stack tight" aria-labelledby="attempts">
      <h2 id="attempts">All decisions about this pod</h2>
      <ol>
        ${e.map((t,n)=>{let[r,i]=[t,e[n-1]].map(e=>e?.provenance?.configurationHash??``),{mark:a,text:o,tone:s}=On(t),c=t.seq===this.seq;return h`<li class=${c?`now`:``}>
            <a href=${V([`decisions`,t.seq])} aria-current=${c?`true`:_} title=${o}>
              <span class=${s}>${a}</span> ${o}</a
            >
            <span class="quiet">${G(t.kind,`DECISION_KIND_`)}, ${A(t.time)} ago</span>
            ${i&&i!==r?Vn(i,r):_}
          </li>`})}
      </ol>
    </section>`}async listAttempts(e){let t=this.record.value?.pod;return t?(await U(`DecisionService/ListDecisions`,{filter:{namespace:t.namespace??``,pod:t.name??``},limit:50},e)).decisions??[]:[]}};E([C()],Bn.prototype,`seq`,void 0),E([w()],Bn.prototype,`again`,void 0),Bn=E([S(`mooring-decision-view`)],Bn);function Vn(e,t=``){if(!e)return _;let n=t?`another configuration`:h`<span class="mono">${e.slice(0,8)}</span>`;return h`<a href=${V([`profiles`],{from:e,to:t})} title="What differs ${t?`between them`:`today`}">${n}</a>`}async function Hn(e,t){return(await U(`DecisionService/ListDecisions`,{afterSeq:String(Number(e)-1),limit:1},t)).decisions?.find(t=>t.seq===e)}function Un({pod:e}){return h`<p><a href=${V([`pods`,e?.namespace??``,e?.name??``])}>Explain ${K(e)} as of now</a></p>`}function Wn({pod:e}){return h`<mooring-manifest .namespace=${e?.namespace??``} .name=${e?.name??``}></mooring-manifest>`}function Y(e,t,n,r){let i=`curl -s ${q(yn(t))} -H 'content-type: application/json' -d ${q(JSON.stringify(n))}`;return[{name:`CLI`,text:e},{name:`JSON`,text:JSON.stringify(r,void 0,2)},{name:`curl`,text:i}]}var Gn=500,Kn=`15s`,qn=500,Jn=2e3,Yn=[`DECISION_RESULT_SCHEDULED`,`DECISION_RESULT_UNSCHEDULABLE`,`DECISION_RESULT_ERROR`,`DECISION_RESULT_FAILED`],Xn=[[`namespace`,`Namespace`],[`pod`,`Pod`],[`selector`,`Labels`],[`node`,`Node`],[`profile`,`Profile`],[`plugin`,`Rejected by`],[`margin`,`Margin at most`]],X=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.shown=[],this.waiting=[],this.paused=!1,this.missed=0,this.loaded=!1,this.abort=new AbortController,this.take=()=>{this.shown=[...this.waiting,...this.shown].slice(0,Gn),this.waiting=[]},this.pause=()=>{this.paused=!this.paused,this.paused||this.take()},this.onFacet=e=>{let{name:t,value:n}=e.target;H({[t]:n.trim()})}}static{this.styles=[T,o`
      .facets {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
      }
      .facets > label {
        display: grid;
        font-size: 0.8125rem;
        color: var(--quiet);
      }
      .facets input,
      .facets select {
        width: 100%;
        color: var(--text);
      }
      mooring-grid {
        --grid-height: calc(100vh - 16rem);
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.abort.abort()}willUpdate(e){e.has(`query`)&&this.query.toString()!==this.asked&&this.begin()}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Decisions</h1>
        <div class="row">
          <span class="quiet" role="status">${this.progress()}</span>
          ${this.waiting.length?h`<button class="primary" @click=${this.take}>Show ${O(this.waiting.length,`new one`)}</button>`:_}
          <button aria-pressed=${this.paused} @click=${this.pause}>${this.paused?`Paused`:`Pause`}</button>
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      <form class="row facets" @submit=${e=>e.preventDefault()} @change=${this.onFacet}>
        ${Xn.map(([e,t])=>h`<label>${t}<input name=${e} autocomplete="off" spellcheck="false" .value=${this.query.get(e)??``} /></label>`)}
        <label
          >Result<select name="result">
            <option value="">all</option>
            ${Yn.map(e=>{let t=G(e,`DECISION_RESULT_`);return h`<option value=${t} ?selected=${this.query.get(`result`)===t}>${t}</option>`})}
          </select></label
        >
      </form>
      ${this.error?Tn(this.error,()=>this.begin()):_}
      ${Qn(`Decisions, the newest first`,this.shown,this.error?`Nothing was listed.`:this.loaded?`No decision yet, or none that matches.`:`Loading …`)}
    </div>`}progress(){let e=this.missed?` · ${D(this.missed)} passed over`:``;return`${D(this.shown.length)} shown${e}`}copies(){let e=[...this.query].filter(([e,t])=>e!==`process`&&t).map(([e,t])=>`--${e} ${q(t)}`),t={filter:this.filter()};return Y([`mooring decisions`,...e].join(` `),`DecisionService/ListDecisions`,t,this.shown)}filter(){let e={},{query:t}=this;for(let n of[`namespace`,`pod`,`node`,`profile`])t.get(n)&&(e[n]=t.get(n));/^\d+$/.test(t.get(`margin`)??``)&&(e.maxMargin=t.get(`margin`)),t.get(`selector`)&&(e.labelSelector=t.get(`selector`)),t.get(`plugin`)&&(e.rejectingPlugin=t.get(`plugin`));let n=Yn.find(e=>G(e,`DECISION_RESULT_`)===t.get(`result`));return n&&(e.results=[n]),e}begin(){this.abort.abort(),this.abort=new AbortController,this.asked=this.query.toString(),[this.shown,this.waiting,this.missed,this.error,this.loaded]=[[],[],0,void 0,!1],this.follow(this.abort.signal)}async follow(e){let t;for(;!e.aborted;){try{let n=await this.ask(t,e);if(t&&n.journalId!==t.journalId)return this.begin();t={...n,nextAfterSeq:this.goOn(n)},this.add(n.decisions??[])}catch(t){e.aborted||(this.error=t)}await Zn(this.error||t?.waitRefused?Jn:qn)}}ask(e,t){let n={filter:this.filter(),limit:Gn};return e&&Object.assign(n,{afterSeq:e.nextAfterSeq??`0`,wait:Kn}),U(`DecisionService/ListDecisions`,n,t)}goOn({nextAfterSeq:e=`0`,lastSeq:t=`0`,missedCount:n=`0`}){let r=Math.max(0,Number(t)-Number(e)-Gn);return this.missed+=Number(n)+r,String(Number(e)+r)}add(e){if(this.loaded=!0,this.error=void 0,!e.length)return;let t=[...e].reverse();this.paused?this.waiting=[...t,...this.waiting].slice(0,Gn):this.shown=[...t,...this.shown].slice(0,Gn)}};E([C({attribute:!1})],X.prototype,`query`,void 0),E([w()],X.prototype,`shown`,void 0),E([w()],X.prototype,`waiting`,void 0),E([w()],X.prototype,`paused`,void 0),E([w()],X.prototype,`missed`,void 0),E([w()],X.prototype,`loaded`,void 0),E([w()],X.prototype,`error`,void 0),X=E([S(`mooring-decisions`)],X);function Zn(e){return new Promise(t=>setTimeout(t,e))}function Qn(e,t,n=`None is remembered.`){return h`<mooring-grid
    label=${e}
    .columns=${$n}
    .rows=${t}
    .keyOf=${e=>e.seq}
    empty=${n}
    @mooring-open=${e=>location.hash=V([`decisions`,e.detail.seq])}
  ></mooring-grid>`}var $n=[{id:`pod`,title:`Pod`,width:`min(16rem, 42vw)`,cell:({pod:e,seq:t})=>h`<a tabindex="-1" href=${V([`decisions`,t])} title=${K(e)}>${K(e)}</a>`},{id:`outcome`,title:`Outcome`,width:`minmax(14rem, 1fr)`,cell:e=>{let{mark:t,text:n,tone:r}=On(e);return h`<span class=${r} title=${n}>${t} ${n}</span>`}},{id:`time`,title:`Time`,width:`6rem`,cell:({time:e})=>h`<time datetime=${e} title=${`${A(e)} ago`}>${er(e)}</time>`},{id:`kind`,title:`Kind`,width:`5.5rem`,cell:({kind:e})=>G(e,`DECISION_KIND_`)},{id:`margin`,title:`Margin`,width:`5rem`,numeric:!0,cell:({node:e,tieCount:t=0,runnerUpNode:n,total:r=`0`,runnerUpTotal:i=`0`})=>e&&t>1?h`<span title="${O(t,`node`)} had the highest total">tied</span>`:n?D(Number(r)-Number(i)):``},{id:`feasible`,title:`Feasible`,width:`7.5rem`,numeric:!0,cell:({feasibleCount:e=0,evaluatedCount:t=0})=>t?`${D(e)} of ${D(t)}`:D(e)},{id:`attempt`,title:`Attempt`,width:`5rem`,numeric:!0,cell:({attempt:e})=>e?D(e):``},{id:`duration`,title:`Took`,width:`6rem`,numeric:!0,cell:e=>ut(e.duration)},{id:`profile`,title:`Profile`,width:`8rem`,cell:({provenance:e})=>e?.profile??``}];function er(e){return e?new Date(e).toLocaleTimeString(`en-GB`):``}var tr=1e3,nr=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.pods=new W(this,ir,{every:5e3})}static{this.styles=[T,o`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: 20rem;
      }
    `]}render(){let e=(this.query.get(`name`)??``).toLowerCase(),t=this.query.get(`show`)??``;return h`<div class="stack">
      <div class="row between">
        <h1>Pods</h1>
        <div class="row">
          <span class="segments" role="group" aria-label="Which pods">
            ${[[``,`All`],[`pending`,`Pending`]].map(([e,n])=>h`<button aria-pressed=${t===e} @click=${()=>H({show:e})}>${n}</button>`)}
          </span>
          <input
            type="search"
            aria-label="Filter by namespace or name"
            placeholder="Filter by namespace or name"
            .value=${e}
            @input=${e=>H({name:e.target.value})}
          />
          <mooring-copy
            .copies=${Y(`mooring why-pending`,`ClusterService/ListPendingPods`,{},this.pods.value??[])}
          ></mooring-copy>
        </div>
      </div>
      ${this.pods.show(n=>h`<mooring-grid
          label="Pods"
          .columns=${rr}
          .rows=${n.filter(({pod:n,pending:r})=>(!t||r)&&K(n).toLowerCase().includes(e))}
          .keyOf=${e=>K(e.pod)}
          empty=${n.length?`No pod matches.`:`No pod is pending, and none was decided about.`}
          @mooring-open=${e=>location.hash=Z(e.detail.pod)}
        ></mooring-grid>`)}
    </div>`}};E([C({attribute:!1})],nr.prototype,`query`,void 0),nr=E([S(`mooring-pods`)],nr);function Z(e){return V([`pods`,e?.namespace??``,e?.name??``])}var rr=[{id:`pod`,title:`Pod`,width:`min(18rem, 45vw)`,cell:({pod:e})=>h`<a tabindex="-1" href=${Z(e)} title=${K(e)}>${K(e)}</a>`},{id:`state`,title:`State`,width:`7rem`,cell:({pending:e})=>e?h`<span class="warn">… pending</span>`:h`<span class="good">✓ placed</span>`},{id:`outcome`,title:`Last decision`,width:`minmax(16rem, 1fr)`,cell:({decision:e})=>{if(!e)return h`<span class="quiet">none remembered</span>`;let{mark:t,text:n,tone:r}=On(e);return h`<span class=${r} title=${n}>${t} ${n}</span>`}},{id:`decided`,title:`Decided`,width:`6rem`,numeric:!0,cell:({decision:e})=>A(e?.time)},{id:`attempt`,title:`Attempts`,width:`6rem`,numeric:!0,cell:({decision:e})=>e?.attempt?D(e.attempt):_},{id:`owner`,title:`Owner`,width:`14rem`,cell:({pending:e,decision:t})=>{let{controllerKind:n,controllerName:r}=e??t??{};return n?`${n} ${r}`:``}}];async function ir(e){let[{pods:t=[]},n]=await Promise.all([U(`ClusterService/ListPendingPods`,{},e),ar(e)]),r=new Map;for(let e of n.reverse()){let t=K(e.pod);r.has(t)||r.set(t,e)}let i=t.map(e=>({pod:e.pod,pending:e,decision:r.get(K(e.pod))})),a=new Set(i.map(({pod:e})=>K(e))),o=[...r].filter(([e,{result:t}])=>!a.has(e)&&t===`DECISION_RESULT_SCHEDULED`);return[...i,...o.map(([,e])=>({pod:e.pod,pending:void 0,decision:e}))]}async function ar(e){try{return(await U(`DecisionService/ListDecisions`,{limit:tr},e)).decisions??[]}catch{return e.throwIfAborted(),[]}}var or=12,sr=class extends x{constructor(...e){super(...e),this.name=``,this.facts=new W(this,e=>ur(this.name,e),{key:()=>this.name}),this.verdicts=new W(this,e=>dr(this.name,e),{key:()=>this.name}),this.selections=new W(this,e=>this.listSelections(e),{key:()=>this.name,every:1e4})}static{this.styles=[T,o`
      .usage {
        display: grid;
        grid-template-columns: minmax(4rem, max-content) minmax(5rem, 1fr) max-content;
        gap: var(--s1) var(--s3);
        align-items: center;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--accent) var(--share), var(--sunken) var(--share));
      }
      .labels {
        list-style: none;
        display: flex;
        flex-wrap: wrap;
        gap: var(--s1);
      }
      .labels li {
        background: var(--sunken);
        border-radius: var(--radius);
        padding: 0 var(--s2);
        overflow-wrap: anywhere;
      }
      .verdicts {
        list-style: none;
      }
      .verdicts > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
      }
      .verdicts p {
        overflow-wrap: anywhere;
      }
    `]}render(){return h`<div class="stack">
      <div class="row between">
        <h1>${this.name}</h1>
        <div class="row">
          <a href=${V([`what-if`],{node:this.name})}>What if it goes?</a>
          <mooring-copy
            .copies=${[{name:`CLI`,text:`mooring decisions --node ${q(this.name)}`},{name:`JSON`,text:JSON.stringify(this.facts.value?.node??{},void 0,2)},{name:`kubectl`,text:`kubectl describe node ${q(this.name)}`}]}
          ></mooring-copy>
        </div>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="room">
          <h2 id="room">What its pods request</h2>
          ${this.facts.show(e=>cr(e))}
        </section>
        <section class="card stack tight" aria-labelledby="why">
          <h2 id="why">${this.selections.value?.length?`What of the pods that wait?`:`Why does nothing land here?`}</h2>
          ${this.verdicts.show(e=>lr(e))}
        </section>
      </div>
      <section class="stack tight" aria-labelledby="selections">
        <h2 id="selections">Decisions that selected it</h2>
        ${this.selections.show(e=>Qn(`Decisions that selected this node, the newest first`,e))}
      </section>
    </div>`}async listSelections(e){return((await U(`DecisionService/ListDecisions`,{filter:{node:this.name},limit:200},e)).decisions??[]).reverse()}};E([C()],sr.prototype,`name`,void 0),sr=E([S(`mooring-node`)],sr);function cr({node:e,usages:t}){let n=e.spec?.taints??[];return h`${e.spec?.unschedulable?h`<p class="warn">⚠ Cordoned: it takes no new pods.</p>`:_}
    ${n.map(({key:e,value:t,effect:n})=>h`<p class="warn">⚠ Taint <span class="mono">${e}${t?`=${t}`:``}:${n}</span></p>`)}
    <div class="usage">
      ${t.map(({resource:e,used:t,all:n})=>h`<span>${e}</span>
            <span class="track" aria-hidden="true" .style=${`--share: ${n?100*t/n:0}%`}></span>
            <span>${k(e,t)} of ${k(e,n)}</span>`)}
    </div>
    <ul class="labels mono" aria-label="Labels">
      ${Object.entries(e.metadata?.labels??{}).map(([e,t])=>h`<li>${e}=${t}</li>`)}
    </ul>`}function lr(e){return e.length?h`<ul class="verdicts">
    ${e.map(({pod:e,count:t,rejections:n})=>h`<li class="stack tight">
          <p>
            <a href=${Z(e)}>${K(e)}</a>${t>1?h` <span class="quiet">and ${D(t-1)} more</span>`:_}
            ${n.length?_:h`<span class="good">✓ would be taken</span>`}
          </p>
          ${n.map(({plugin:e,reasons:t=[]})=>h`<p><span class="bad">✕</span> <strong>${e}</strong>: ${t.join(`, `)}</p>
                <p class="quiet">${_t(e,t[0])}</p>`)}
        </li>`)}
  </ul>`:h`<p class="empty">✓ No pod waits for a node.</p>`}async function ur(e,t){let n=await J(`Node`,``,e,t),r=n.status?.allocatable??{},i=Object.fromEntries(Object.keys(r).filter(e=>e!==`pods`).map(e=>[e,e===`cpu`?`1m`:`1`])),{resources:a=[]}=await pr(e,{object:Rn({apiVersion:`v1`,kind:`Pod`,metadata:{name:`probe`,namespace:`default`},spec:{containers:[{name:`probe`,resources:{requests:i,limits:i}}]}})},t);return{node:n,usages:a.map(({name:e=``,free:t=[]})=>{let n=st(e,r[e]??`0`);return{resource:e,all:n,used:n-Number(t[0]??0)}})}}async function dr(e,t){let{groups:n=[]}=await U(`DecisionService/SummarizeReasons`,{limit:or,askNow:!0},t),r=n.flatMap(e=>e.examples?.[0]?[[e,e.examples[0]]]:[]);return Promise.all(r.map(async([{podCount:n=1},r])=>({pod:r,count:n,rejections:fr(await pr(e,{reference:r},t))})))}function fr({verdicts:e,rejections:t}){let n=t?.verdicts??e?.nodeVerdicts??[];return[...new Set(n)].filter(Boolean).map(t=>e.distinct[t])}function pr(e,t,n){return U(`SchedulingService/Explain`,{pod:t,nodes:{names:{names:[e]}},allRejections:!0},n)}var mr=1e3,hr=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.sorting={column:`name`,descending:!1},this.nodes=new W(this,e=>vr(this.selector(),e),{every:1e4,key:()=>this.selector()})}static{this.styles=[T,o`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: 20rem;
      }
    `]}render(){let e=this.query.get(`name`)??``,t=this.selector()?``:e.toLowerCase();return h`<div class="stack">
      <div class="row between">
        <h1>Nodes</h1>
        <div class="row">
          <input
            type="search"
            aria-label="Filter by name or labels"
            placeholder="Filter by name or labels, such as zone=a"
            .value=${e}
            @input=${e=>H({name:e.target.value})}
          />
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      ${this.nodes.show(({rows:e,decisions:n})=>{let r=e.filter(({name:e})=>e.toLowerCase().includes(t)).sort(this.compare());return h`<p class="quiet">${O(r.length,`node`)}; selections are those of the last ${O(n,`decision`)}</p>
          <mooring-grid
            label="Nodes"
            .columns=${_r}
            .rows=${r}
            .keyOf=${e=>e.name}
            .sorting=${this.sorting}
            empty="No node matches."
            @mooring-sort=${e=>this.sort(e.detail)}
            @mooring-open=${e=>location.hash=V([`nodes`,e.detail.name])}
          ></mooring-grid>`})}
    </div>`}copies(){let e=this.selector();return Y(`kubectl get nodes${e?` -l ${q(e)}`:``}`,`ClusterService/ListNodes`,{labelSelector:e},this.nodes.value?.rows??[])}selector(){let e=this.query.get(`name`)??``;return Jt(e)?e:``}sort(e){let t=this.sorting.column===e?!this.sorting.descending:e===`selected`;this.sorting={column:e,descending:t}}compare(){let e=this.sorting.descending?-1:1;return this.sorting.column===`selected`?(t,n)=>e*(t.selected-n.selected):(t,n)=>e*gr.compare(t.name,n.name)}};E([C({attribute:!1})],hr.prototype,`query`,void 0),E([w()],hr.prototype,`sorting`,void 0),hr=E([S(`mooring-nodes`)],hr);var gr=new Intl.Collator(`en`,{numeric:!0}),_r=[{id:`name`,title:`Node`,width:`min(26rem, 60vw)`,sortable:!0,cell:({name:e})=>h`<a tabindex="-1" href=${V([`nodes`,e])} title=${e}>${e}</a>`},{id:`selected`,title:`Selected`,width:`7rem`,numeric:!0,sortable:!0,cell:({selected:e})=>D(e)},{id:`last`,title:`Last selected for`,width:`minmax(16rem, 1fr)`,cell:({last:e})=>e?h`<a tabindex="-1" href=${V([`decisions`,e.seq])}>${K(e.pod)}</a> <span class="quiet">${A(e.time)} ago</span>`:h`<span class="quiet">–</span>`}];async function vr(e,t){let[n,r]=await Promise.all([bn(e,t),yr(t)]),i=new Map(n.map(e=>[e,{name:e,selected:0,last:void 0}]));for(let e of r){let t=i.get(e.node??``);t&&([t.selected,t.last]=[t.selected+1,e])}return{rows:[...i.values()],decisions:r.length}}async function yr(e){try{return(await U(`DecisionService/ListDecisions`,{limit:mr},e)).decisions??[]}catch{return e.throwIfAborted(),[]}}var br=5e3,xr=6e4,Sr=30,Cr=1e3,wr=class extends x{constructor(...e){super(...e),this.info=new W(this,e=>U(`ClusterService/GetClusterInfo`,{},e),{every:br}),this.reasons=new W(this,e=>U(`DecisionService/SummarizeReasons`,{askNow:!0},e),{every:()=>this.reasons.value?.askedCount&&!this.reasons.value.unexplainedCount?xr:br}),this.latest=new W(this,Er,{every:br})}static{this.styles=[T,o`
      .tiles {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(11rem, 40vw), 1fr));
        gap: var(--s3);
      }
      .tile {
        display: flex;
        flex-direction: column;
        padding: var(--s3) var(--s4);
      }
      .tile dd {
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      .tile dt {
        color: var(--quiet);
      }
      .tile dd:nth-of-type(1) {
        font-size: 1.375rem;
        line-height: 1.4;
        font-weight: 600;
        letter-spacing: -0.01em;
      }
      .groups {
        list-style: none;
        display: grid;
        gap: var(--s3);
      }
      .group {
        display: grid;
        grid-template-columns: 5.5rem minmax(0, 1fr) 8rem;
        gap: var(--s1) var(--s4);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
        line-height: 1.3;
      }
      .group p {
        overflow-wrap: anywhere;
      }
      svg {
        display: block;
        width: 100%;
        height: 32px;
        color: var(--bad);
      }
      @media (max-width: 40rem) {
        .group {
          grid-template-columns: 3.5rem minmax(0, 1fr);
        }
        .trend {
          grid-column: 2;
          max-width: 10rem;
        }
      }
    `]}render(){return h`<div class="stack">
      <h1>Overview</h1>
      ${this.info.show(e=>this.tiles(e))}
      <section class="stack tight" aria-labelledby="attention">
        <div class="row between">
          <h2 id="attention">Needs attention</h2>
          ${this.reasons.value?h`<mooring-copy
                .copies=${Y(`mooring why-pending`,`DecisionService/SummarizeReasons`,{askNow:!0},this.reasons.value)}
              ></mooring-copy>`:_}
        </div>
        ${this.reasons.show(Or)}
      </section>
    </div>`}tiles(e){let t=e.provenance?.configurationHash??``,n=Math.max(0,...(e.sources??[]).map(e=>Number(e.stalenessSeconds??0))),r=(e.sources??[]).flatMap(e=>e.error?[`${e.name}: ${e.error}`]:[]),i=e.pendingPodCount??0;return h`<dl class="tiles">
        ${Dr(`Cluster state`,h`<span class=${e.synced?`good`:`warn`}>${e.synced?`✓ synced`:`… reading`}</span>`,[n>Sr?h`<span class="warn">⚠ ${dt(n)} old</span>`:this.source(e)])}
        ${Dr(`Decisions`,h`${this.rate()}`,[Tr(e)])}
        ${Dr(`Pending pods`,h`<span class=${i?`warn`:`good`}>${i?``:`✓ `}${D(i)}</span>`,[h`of ${O(e.podCount??0,`pod`)}`])}
        ${Dr(`Nodes`,h`${D(e.nodeCount??0)}`,[h`Kubernetes ${e.kubeVersion} rules`])}
        ${Dr(`Configuration`,h`<span class="mono" title=${t}>${t.slice(0,8)}</span>`,[h`<a href=${V([`profiles`])}>in force for ${A(e.configurationTime)}</a>`,h`mooring ${e.serverVersion}, up ${A(e.startTime)}`])}
      </dl>
      ${r.map(e=>h`<p class="failure" role="alert">${e}</p>`)}`}source(e){let t=(e.sources??[]).map(e=>e.name).join(`, `);return h`<span title=${t}>${t}</span>`}rate(){let e=this.latest.value;if(!e?.length)return e?`none yet`:`–`;let t=(Date.now()-Date.parse(e[0].time??``))/1e3,n=e.length/Math.max(1,t);return n>=.1?`${D(n)}/s`:`last ${A(e.at(-1).time)} ago`}};wr=E([S(`mooring-overview`)],wr);function Tr({leads:e=!1,leader:t=``}){return e?h`${t?`✓ leads, `:_}<a href=${V([`decisions`])}>as they are made</a>`:h`<span class="warn" title=${t}>⚠ waits: ${t||`no process`} leads</span>`}async function Er(e){return(await U(`DecisionService/ListDecisions`,{limit:Cr},e)).decisions??[]}function Dr(e,t,n){return h`<div class="card tile">
    <dt>${e}</dt>
    <dd>${t}</dd>
    ${n.map(e=>h`<dd class="quiet">${e}</dd>`)}
  </div>`}function Or({groups:e=[],groupCount:t=0,askedCount:n=0,unexplainedCount:r=0}){return!e.length&&!r?h`<p class="card">✓ No pod waits for a node.</p>`:h`${n?h`<p class="quiet">${O(n,`pod`)} evaluated now, each by itself: no decision about them is remembered.</p>`:_}
    <ul class="groups">
      ${e.map(kr)}
    </ul>
    ${t>e.length?h`<p class="quiet">… and ${O(t-e.length,`more group`)}</p>`:_}
    ${r?h`<p class="quiet">
          … and ${O(r,`more pod`)} without a node, not evaluated yet.
          <a href=${V([`pods`],{show:`pending`})}>Ask about one</a>
        </p>`:_}`}function kr(e){let t=e.podCount??0,n=e.controllerKind?`${e.controllerKind} ${e.namespace}/${e.controllerName}`:`pods of ${e.namespace}`,r=e.reason?.nodeCount?` on ${O(e.reason.nodeCount,`node`)}`:``;return h`<li class="card group">
    <div>
      <div class="count">${D(t)}</div>
      <div class="quiet">${t===1?`pod`:`pods`}</div>
    </div>
    <div class="stack tight">
      <p><strong>${n}</strong> ${e.oldestTime?h`<span class="quiet">· oldest ${A(e.oldestTime)}</span>`:_}</p>
      ${e.result===`DECISION_RESULT_SCHEDULED`?h`<p><span class="good">✓</span> ${e.message}${r}</p>`:h`<p><span class="bad">✕</span> ${Dn(e.reason)||e.message}${r}</p>
            <p>→ ${_t(e.reason?.plugin,e.reason?.reason)}</p>`}
      <p class="row">
        ${e.lastSeq?h`<a href=${V([`decisions`,e.lastSeq])}>Newest decision</a>`:_}
        ${(e.examples??[]).map(e=>h`<a href=${V([`pods`,e.namespace??``,e.name??``])}>${K(e)}</a>`)}
      </p>
    </div>
    ${e.lastSeq?Ar(e.trend??[]):_}
  </li>`}function Ar(e){let t=Math.max(1,...e),n=e.map((e,n)=>`${n},${1-e/t}`).join(` `);return h`<figure class="trend">
    <svg viewBox="0 -0.05 ${Math.max(1,e.length-1)} 1.1" preserveAspectRatio="none" aria-hidden="true">
      <polyline points=${n} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
    <figcaption class="quiet">${D(e[0]??0)} → ${D(e.at(-1)??0)}</figcaption>
  </figure>`}function jr(e,t,n=``){if(JSON.stringify(e)===JSON.stringify(t))return[];let[r,i]=[Mr(e),Mr(t)];if(!r||!i)return[{path:n,before:Pr(e),after:Pr(t)}];let a=[...new Set([...r.keys(),...i.keys()])].flatMap(e=>jr(r.get(e),i.get(e),e.startsWith(`[`)||!n?n+e:`${n}.${e}`));return a.length?a:[{path:`${n} (order)`,before:[...r.keys()].join(` `),after:[...i.keys()].join(` `)}]}function Mr(e){return Array.isArray(e)?new Map(e.map((e,t)=>[`[${Nr(e)??t}]`,e])):typeof e==`object`&&e?new Map(Object.entries(e)):void 0}function Nr(e){if(typeof e!=`object`||!e)return;let{name:t,schedulerName:n}=e;return t??n}function Pr(e){return e===void 0?void 0:JSON.stringify(e)}var Fr=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.compared=new W(this,e=>Ir(this.query,e),{key:()=>this.query.toString()}),this.profiles=new W(this,e=>U(`PluginService/ListProfiles`,{},e),{every:15e3}),this.plugins=new W(this,zr)}static{this.styles=[T,o`
      .scroll {
        overflow-x: auto;
      }
      table {
        border-collapse: collapse;
        font-size: 0.8125rem;
      }
      th {
        text-align: start;
        font-weight: inherit;
        white-space: nowrap;
      }
      thead th {
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s3);
        border-bottom: 1px solid var(--line);
      }
      td,
      thead th:nth-child(n + 2) {
        text-align: center;
        white-space: nowrap;
      }
      tbody th {
        position: sticky;
        left: 0;
        background: var(--raised);
      }
      .list td,
      .list thead th:nth-child(n + 2) {
        text-align: start;
      }
      .periods {
        padding-inline-start: var(--s4);
      }
      .weight {
        font-weight: 600;
      }
    `]}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Profiles</h1>
        <mooring-copy
          .copies=${Y(`mooring config show --resolved`,`PluginService/ListProfiles`,{},this.profiles.value??{})}
        ></mooring-copy>
      </div>
      ${this.profiles.show(({profiles:e=[],configurationHash:t=``,configurations:n=[]})=>h`<p class="quiet">Configuration <span class="mono">${t}</span></p>
            ${this.query.get(`from`)?this.comparison():_}
            ${n.length>1?Rr(n):_} ${e.map(Vr)}`)}
      <section class="card stack tight" aria-labelledby="plugins">
        <h2 id="plugins">All plugins that the process knows</h2>
        ${this.plugins.show(e=>Hr(e))}
      </section>
    </div>`}comparison(){let[e,t]=[this.query.get(`from`)??``,this.query.get(`to`)??``];return h`<section class="card stack tight" aria-labelledby="compared">
      <div class="row between">
        <h2 id="compared">From <span class="mono">${e.slice(0,8)}</span> to ${t?h`<span class="mono">${t.slice(0,8)}</span>`:`now`}</h2>
        <a href=${V([`profiles`])}>Close</a>
      </div>
      ${this.compared.show(e=>e?.length?Br(e):h`<p class="good">✓ Nothing differs.</p>`)}
    </section>`}};E([C({attribute:!1})],Fr.prototype,`query`,void 0),Fr=E([S(`mooring-profiles`)],Fr);async function Ir(e,t){let[n,r]=[e.get(`from`),e.get(`to`)??``];if(!n)return;let[i,a]=await Promise.all([Lr(n,t),Lr(r,t)]);return jr(i,a)}async function Lr(e,t){let{profiles:n=[]}=await U(`PluginService/ListProfiles`,{configurationHash:e},t);return Object.fromEntries(n.map(({name:e=``,configurationJson:t=`{}`})=>[e,JSON.parse(t)]))}function Rr(e){return h`<section class="card stack tight" aria-labelledby="periods">
    <h2 id="periods">Since the start</h2>
    <ol class="periods">
      ${e.map(({hash:t=``,beginTime:n},r)=>{let i=e[r-1]?.hash;return h`<li>
          <span class="mono">${t.slice(0,8)}</span> ${A(n)} ago
          ${i&&i!==t?h`<a href=${V([`profiles`],{from:i,to:t})}>what it changed</a>`:_}
        </li>`})}
    </ol>
  </section>`}async function zr(e){return(await U(`PluginService/ListPlugins`,{},e)).plugins??[]}function Br(e){return h`<div class="scroll" tabindex="0" role="group" aria-label="Differences">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({path:e,before:t,after:n})=>h`<tr>
              <th scope="row">${e}</th>
              <td class="mono">${t??h`<span class="quiet">absent</span>`}</td>
              <td class="mono">${n??h`<span class="quiet">absent</span>`}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function Vr({name:e=``,extensionPoints:t=[],weightSum:n=`0`,unsupportedPlugins:r=[]}){let i=t.map(({extensionPoint:e,plugins:t=[]})=>({point:En(e??``),plugins:t})),a=[...new Set(i.flatMap(({plugins:e})=>e.map(e=>e.name??``)))];return h`<section class="card stack tight" aria-label="Profile ${e}">
    <div class="row between">
      <h2>${e}</h2>
      <p class="quiet">Numbers are the order of calls; a total is at most ${D(100*Number(n))}</p>
    </div>
    ${r.length?h`<p class="warn">⚠ Not evaluated: ${r.join(`, `)}</p>`:_}
    <div class="scroll" tabindex="0" role="group" aria-label="Plugins of ${e} by extension point">
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            ${i.map(({point:e})=>h`<th scope="col">${e}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${a.map(e=>h`<tr>
                <th scope="row"><a href=${V([`plugins`,e])}>${e}</a></th>
                ${i.map(({plugins:t})=>{let n=t.findIndex(t=>t.name===e),r=Number(t[n]?.weight??0);return h`<td>${n<0?_:n+1}${r?h` <span class="weight">× ${r}</span>`:_}</td>`})}
              </tr>`)}
        </tbody>
      </table>
    </div>
  </section>`}function Hr(e){return h`<div class="scroll" tabindex="0" role="group" aria-label="All plugins">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Plugin</th>
          <th scope="col">State</th>
          <th scope="col">From</th>
          <th scope="col">In profiles</th>
          <th scope="col">Extension points</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({name:e=``,state:t,source:n,profiles:r=[],extensionPoints:i=[]})=>h`<tr>
              <th scope="row"><a href=${V([`plugins`,e])}>${e}</a></th>
              <td>${Ur(t)}</td>
              <td>${n}</td>
              <td>${r.join(`, `)||h`<span class="quiet">none</span>`}</td>
              <td>${i.map(En).join(`, `)}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function Ur(e){let t=G(e,`PLUGIN_STATE_`);return t===`available`?h`<span class="good">✓ ${t}</span>`:h`<span class=${t===`failed`?`bad`:`warn`}>${t===`failed`?`✕`:`⚠`} ${t}</span>`}var Wr=class extends x{constructor(...e){super(...e),this.name=``,this.info=new W(this,async e=>(await zr(e)).find(({name:e})=>e===this.name),{key:()=>this.name}),this.profiles=new W(this,async e=>(await U(`PluginService/ListProfiles`,{},e)).profiles??[]),this.rejections=new W(this,e=>this.listRejections(e),{key:()=>this.name})}static{this.styles=[T]}render(){return h`<div class="stack">
      <h1>${this.name}</h1>
      ${this.info.show(e=>e?Gr(e):h`<p class="failure" role="alert">The process knows no such plugin.</p>`)}
      ${this.profiles.show(e=>e.map(e=>this.configured(e)))}
      <section class="stack tight" aria-labelledby="rejections">
        <h2 id="rejections">Decisions in which it rejected something</h2>
        ${this.rejections.show(e=>Qn(`Decisions in which the plugin rejected something, the newest first`,e))}
      </section>
    </div>`}configured({name:e,extensionPoints:t=[],configurationJson:n=`{}`}){let r=t.filter(({plugins:e=[]})=>e.some(({name:e})=>e===this.name));if(!r.length)return _;let i=r.flatMap(({plugins:e=[]})=>e.filter(({name:e})=>e===this.name)).find(e=>e.weight)?.weight,{pluginConfig:a=[]}=JSON.parse(n),o=a.find(({name:e})=>e===this.name)?.args;return h`<section class="card stack tight" aria-label="In profile ${e}">
      <h2>In profile ${e}</h2>
      <dl class="facts">
        <div><dt>Extension points</dt><dd>${r.map(({extensionPoint:e})=>En(e??``)).join(`, `)}</dd></div>
        ${i?h`<div><dt>Weight</dt><dd>${i}</dd></div>`:_}
      </dl>
      ${o?h`<pre tabindex="0" aria-label="Arguments">${JSON.stringify(o,void 0,2)}</pre>`:h`<p class="quiet">No arguments.</p>`}
    </section>`}async listRejections(e){return((await U(`DecisionService/ListDecisions`,{filter:{rejectingPlugin:this.name},limit:100},e)).decisions??[]).reverse()}};E([C()],Wr.prototype,`name`,void 0),Wr=E([S(`mooring-plugin`)],Wr);function Gr({state:e,source:t,profiles:n=[],loadError:r}){return h`<dl class="facts">
      <div><dt>State</dt><dd>${Ur(e)}</dd></div>
      <div><dt>From</dt><dd>${t}</dd></div>
      <div><dt>In profiles</dt><dd>${n.join(`, `)||`none`}</dd></div>
    </dl>
    ${r?h`<pre tabindex="0">${r}</pre>`:_}`}var Q=class extends x{constructor(...e){super(...e),this.session=``,this.asked=!1,this.asking=!1}static{this.styles=[T,o`
      ol {
        list-style: none;
      }
      ol > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
      ul {
        padding-inline-start: var(--s4);
      }
    `]}updated(e){e.has(`pod`)&&this.asked&&this.ask()}render(){return h`<section class="card stack tight" aria-labelledby="changes">
      <div class="row between">
        <h2 id="changes">${this.group?`What would make its group fit?`:`What would make it fit?`}</h2>
        <button ?disabled=${this.asking||!this.pod} @click=${()=>void this.ask()}>Find the fewest changes</button>
      </div>
      <div role="status" class="quiet">${this.asking?`Trying on a copy of the cluster …`:_}</div>
      ${this.error?Tn(this.error,()=>void this.ask()):_} ${this.found?Kr(this.found):_}
    </section>`}async ask(){[this.asking,this.error,this.found]=[!0,void 0,void 0];try{this.found=await this.askGroup()??{response:await U(`SimulationService/SuggestChanges`,{session:this.session,pod:this.pod})}}catch(e){this.error=e}this.asking=!1}async askGroup(){let{session:e,group:t}=this;if(t)try{return{group:t,response:await U(`SimulationService/SuggestChanges`,{session:e,group:t})}}catch(e){if(e instanceof hn&&e.reason===`GROUPS_OFF`)return;throw e}}};E([C({attribute:!1})],Q.prototype,`pod`,void 0),E([C({attribute:!1})],Q.prototype,`group`,void 0),E([C()],Q.prototype,`session`,void 0),E([C({type:Boolean})],Q.prototype,`asked`,void 0),E([w()],Q.prototype,`found`,void 0),E([w()],Q.prototype,`asking`,void 0),E([w()],Q.prototype,`error`,void 0),Q=E([S(`mooring-changes`)],Q);function Kr({group:e,response:t}){return h`${e?h`<p class="quiet">Of pod group ${e.namespace}/${e.name}, with all its pods as the cluster has them:</p>`:_}${qr(t,e?`each pod`:`the pod`)}`}function qr(e,t){let{verdict:n,options:r=[],complete:i=!1}=e;if(n?.code===`VERDICT_CODE_SUCCESS`)return h`<p class="good">✓ It fits as it is.</p>`;let a=Jr(e);if(!r.length)return h`${a}<p>No set of changes was found with which it fits.</p>`;let o=i?_:h`<p class="quiet">The cluster is large: not everything was tried that might be less.</p>`;return h`${a}
    <ol>
      ${r.map(e=>h`<li>
            <p>${O(e.steps?.length??0,`change`)}, then ${Yr(e)}:</p>
            <ul>
              ${e.steps?.map(e=>h`<li>${Xr(e,t)}</li>`)}
            </ul>
          </li>`)}
    </ol>
    ${o}`}function Jr({preemptionNode:e=``,candidates:t=[]}){let n=t.find(({node:t})=>t===e);if(!n)return h``;let r=(n.victims??[]).map(({reference:e})=>K(e)),i=n.violatedBudgets??[];return h`<p>
    It runs on ${e} once ${r.slice(0,3).join(`, `)}${r.length>3?` and ${r.length-3} more`:``}
    ${r.length===1?`is`:`are`} preempted.${i.length?` This violates ${i.join(`, `)}.`:_}
  </p>`}function Yr({node:e,landings:t=[]}){let n=e=>h`<a href=${V([`nodes`,e])}>${e}</a>`;if(e)return h`${n(e)} takes it`;let r=new Map;for(let e of t)r.set(e.node??``,(r.get(e.node??``)??0)+1);return h`it has ${[...r].map(([e,t],r)=>h`${r?`, `:_}${O(t,`pod`)} on ${n(e)}`)}`}function Xr({toleration:e,label:t,request:n,move:r,node:i},a){if(e)return`${a} tolerates ${e.key??``}${e.value?`=${e.value}`:``}:${e.effect??``}`;if(t)return t.value===void 0?`${t.node} loses the label ${t.key}`:`${t.node} gets the label ${t.key}=${t.value}`;if(n){let[e,t]=[n.before,n.after].map(e=>k(n.resource??``,Number(e??0)));return`${a} requests ${t} ${n.resource} instead of ${e}`}return r?`${K(r.pod)} goes to ${r.node}`:`there is one more node like ${i?.like??``}`}var Zr=`QUEUE_PLACE_`,Qr={in_flight:`being tried right now`,active:`tried when their turn comes`,backoff:`held back for a while after a failure`,unschedulable:`wait for a change that may help`,gated:`not let in by a PreEnqueue plugin`},$r=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.queue=new W(this,e=>U(`DecisionService/ListQueue`,{},e),{every:2e3})}static{this.styles=[T,o`
      .places {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
        gap: var(--s3);
      }
      .place {
        display: grid;
        text-align: start;
        white-space: normal;
        padding: var(--s3) var(--s4);
        align-content: start;
        border-radius: calc(2 * var(--radius));
      }
      .place[aria-pressed="true"] {
        background: var(--tint);
        color: inherit;
        border-color: var(--accent);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
      }
      mooring-grid {
        --grid-height: calc(100vh - 20rem);
      }
    `]}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Queue</h1>
        <mooring-copy
          .copies=${Y(`mooring why-pending`,`DecisionService/ListQueue`,{},this.queue.value??{}).slice(1)}
        ></mooring-copy>
      </div>
      ${this.queue.show(e=>this.places(e))}
    </div>`}places({pods:e=[],counts:t=[]}){let n=this.query.get(`place`)??``,r=e=>t.find(t=>t.place===Zr+e.toUpperCase())?.podCount??0,i=n?e.filter(({place:e})=>e===Zr+n.toUpperCase()):e;return h`<div class="places" role="group" aria-label="Places">
        ${Object.entries(Qr).map(([e,t])=>h`<button class="place" aria-pressed=${n===e} @click=${()=>H({place:n===e?``:e})}>
              <span>${G(e,``)}</span><span class="count">${D(r(e))}</span><span class="quiet">${t}</span>
            </button>`)}
      </div>
      <mooring-grid
        label="Pods in the queue, in the order in which they are tried or have waited"
        .columns=${ti}
        .rows=${i}
        .keyOf=${e=>K(e.pod)}
        empty="No pod waits here."
        @mooring-open=${e=>location.hash=Z(e.detail.pod)}
      ></mooring-grid>`}};E([C({attribute:!1})],$r.prototype,`query`,void 0),$r=E([S(`mooring-queue`)],$r);function ei(e){return(e.wakes??[]).map(({plugin:e,events:t=[]})=>`${e} on ${t.join(`, `)}`).join(`; `)}var ti=[{id:`pod`,title:`Pod`,width:`min(18rem, 45vw)`,cell:({pod:e})=>h`<a tabindex="-1" href=${Z(e)} title=${K(e)}>${K(e)}</a>`},{id:`place`,title:`Place`,width:`8rem`,cell:({place:e})=>G(e,Zr)},{id:`waits`,title:`There for`,width:`6rem`,numeric:!0,cell:({placeTime:e})=>A(e)},{id:`age`,title:`In queue`,width:`6rem`,numeric:!0,cell:({addedTime:e})=>A(e)},{id:`priority`,title:`Priority`,width:`6rem`,numeric:!0,cell:({priority:e=0})=>D(e)},{id:`attempts`,title:`Attempts`,width:`6rem`,numeric:!0,cell:({attempts:e=0})=>D(e)},{id:`wakes`,title:`Would wake it`,width:`minmax(18rem, 1fr)`,cell:e=>h`<span title=${ei(e)}>${ei(e)||h`<span class="quiet">its turn</span>`}</span>`}],ni=class extends x{constructor(...e){super(...e),this.namespace=``,this.name=``,this.key=()=>`${this.namespace}/${this.name}`,this.queued=new W(this,e=>this.findQueued(e),{key:this.key,every:5e3}),this.attempts=new W(this,e=>this.listAttempts(e),{key:this.key,every:5e3}),this.manifest=new W(this,e=>J(`Pod`,this.namespace,this.name,e),{key:this.key}),this.now=new W(this,e=>_n(this.question(),e),{key:this.key})}static{this.styles=[T]}render(){let e=q(this.key()),t=this.question();return h`<div class="stack">
      <div class="row between">
        <h1>${this.key()}</h1>
        <mooring-copy
          .copies=${[...Y(`mooring explain ${e}`,`SchedulingService/Explain`,t,this.attempts.value??[]),{name:`kubectl`,text:`kubectl get pod ${q(this.name)} -n ${q(this.namespace)} -o yaml`}]}
        ></mooring-copy>
      </div>
      ${this.queued.value?this.place(this.queued.value):_}
      <section class="stack tight" aria-labelledby="attempts">
        <h2 id="attempts">Decisions about it</h2>
        ${this.attempts.show(e=>Qn(`Decisions about this pod, the newest first`,e))}
      </section>
      <section class="stack tight" aria-labelledby="now">
        <div class="row between">
          <h2 id="now">Where it would go now</h2>
          <span class="row">
            <button @click=${()=>void this.now.run()}>Explain again</button>
            <a href=${V([`what-if`],{pod:this.key()})}>What if …</a>
          </span>
        </div>
        ${this.now.show(e=>h`<mooring-decision .columns=${e} .nodesWith=${bn}></mooring-decision>`)}
      </section>
      ${this.now.value&&this.manifest.value?this.changes(this.manifest.value):_}
      <mooring-manifest .namespace=${this.namespace} .name=${this.name}></mooring-manifest>
    </div>`}changes(e){return et(this.key(),h`<mooring-changes .pod=${this.question().pod} .group=${In(e)}></mooring-changes>`)}place(e){let t=e.readyTime?h`<div><dt>Ready</dt><dd>${new Date(e.readyTime).toLocaleTimeString(`en-GB`)}</dd></div>`:_;return h`<dl class="facts card">
      <div><dt>Waits in</dt><dd>${G(e.place,`QUEUE_PLACE_`)} for ${A(e.placeTime)}</dd></div>
      <div><dt>Priority</dt><dd>${D(e.priority??0)}</dd></div>
      <div><dt>Attempts</dt><dd>${D(e.attempts??0)}</dd></div>
      ${t}
      <div><dt>Would wake it</dt><dd>${ei(e)||`its turn`}</dd></div>
    </dl>`}question(){return{pod:{reference:{namespace:this.namespace,name:this.name}},allRejections:!0}}async findQueued(e){try{let{pods:t=[]}=await U(`DecisionService/ListQueue`,{namespace:this.namespace,limit:1e4},e);return t.find(({pod:e})=>e?.name===this.name)}catch{e.throwIfAborted();return}}async listAttempts(e){return((await U(`DecisionService/ListDecisions`,{filter:{namespace:this.namespace,pod:this.name},limit:100},e)).decisions??[]).reverse()}};E([C()],ni.prototype,`namespace`,void 0),E([C()],ni.prototype,`name`,void 0),ni=E([S(`mooring-pod`)],ni);var ri=`600s`,ii=`kubernetes.io/hostname`,ai=class{constructor(){this.session=``,this.steps=[]}async cordon(e){let t=await J(`Node`,``,e);await this.change(`cordon ${e}`,[oi({...t,spec:{...t.spec,unschedulable:!0}})])}async remove(e){await this.change(`remove ${e}`,[{remove:{kind:`Node`,name:e}}])}async addLike(e,t){let n=await J(`Node`,``,e),r=Array.from({length:t},(t,r)=>oi(si(n,`${e}-copy-${this.steps.length+1}-${r+1}`)));await this.change(`add ${t} like ${e}`,r)}async undo(){let e=this.steps.at(-1);e&&(await U(`SimulationService/RevertSession`,{session:this.session,mark:e.mark}),this.steps=this.steps.slice(0,-1))}close(){let{session:e}=this;[this.session,this.steps]=[``,[]],e&&U(`SimulationService/CloseSession`,{session:e}).catch(()=>void 0)}async change(e,t){if(!this.session){let{session:e}=await U(`SimulationService/OpenSession`,{lease:ri});this.session=e?.id??``}let{session:n}=this,{mark:r=0}=await U(`SimulationService/MarkSession`,{session:n});await U(`SimulationService/ChangeSession`,{session:n,changes:t}),this.steps=[...this.steps,{words:e,mark:r}]}};function oi(e){return{put:{objects:[Rn(e)]}}}function si(e,t){let n={...e.metadata?.labels,[ii]:t};return{...e,metadata:{...e.metadata,name:t,uid:t,labels:n}}}var ci=200,li=`apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
spec:
  containers:
  - name: web
    resources:
      requests: {cpu: 500m, memory: 512Mi}
`,$=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.node=``,this.text=li,this.busy=``,this.count=1,this.sandbox=new ai,this.nodes=new W(this,pi),this.pods=new W(this,mi),this.startOver=()=>{this.sandbox.close(),this.answer=void 0,this.requestUpdate()}}static{this.styles=[T,o`
      textarea {
        width: 100%;
        min-height: 15rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        line-height: 1.5;
        padding: var(--s3);
        resize: vertical;
      }
      .name {
        flex: 1 1 12rem;
      }
      .count {
        width: 4.5rem;
      }
      .steps {
        padding-inline-start: var(--s5);
      }
      .landings {
        list-style: none;
      }
      .landings li {
        border-top: 1px solid var(--line);
        padding: var(--s1) 0;
        overflow-wrap: anywhere;
      }
      label {
        display: contents;
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.sandbox.close()}willUpdate(e){if(!e.has(`query`))return;let[t,n]=[this.query.get(`pod`),this.query.get(`node`)];n&&(this.node=n),t?this.attempt(`Reading the pod`,async()=>void await this.takePod(t)):n&&this.askRemoval()}render(){return h`<div class="stack">
      <div>
        <h1>What if</h1>
        <p class="quiet">Asked of a copy of the cluster: nothing real changes.</p>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="cluster">
          <h2 id="cluster">… the cluster were different</h2>
          ${this.changing()}
        </section>
        <section class="card stack tight" aria-labelledby="pod">
          <h2 id="pod">… there were such a pod</h2>
          ${this.asking()}
        </section>
      </div>
      <div role="status" class="quiet">${this.busy&&`${this.busy} …`}</div>
      ${this.error?Tn(this.error,()=>this.error=void 0,`Dismiss`):_} ${this.answer?this.shown(this.answer):_}
    </div>`}changing(){let{sandbox:e,node:t}=this,n=(this.nodes.value??[]).filter(e=>e.includes(t)).slice(0,ci),r=(e,t)=>()=>void this.attempt(e,t);return h`<div class="row">
        <input
          class="name"
          list="nodes"
          aria-label="Node"
          placeholder="Node"
          autocomplete="off"
          spellcheck="false"
          .value=${t}
          @input=${e=>this.node=e.target.value.trim()}
        />
        <datalist id="nodes">${n.map(e=>h`<option value=${e}></option>`)}</datalist>
      </div>
      <div class="row">
        <button ?disabled=${!t} @click=${()=>void this.askRemoval()}>Where would its pods go?</button>
        <button ?disabled=${!t} @click=${r(`Cordoning`,()=>e.cordon(t))}>Cordon</button>
        <button ?disabled=${!t} @click=${r(`Removing`,()=>e.remove(t))}>Remove</button>
        <span class="row">
          <button ?disabled=${!t} @click=${r(`Adding`,()=>e.addLike(t,this.count))}>Add</button>
          <input
            class="count"
            type="number"
            min="1"
            max="1000"
            aria-label="How many nodes to add"
            .valueAsNumber=${this.count}
            @input=${e=>this.count=e.target.valueAsNumber||1}
          />
          <span>like it</span>
        </span>
      </div>
      ${e.steps.length?this.steps():h`<p class="quiet">As it is now: nothing is changed.</p>`}`}steps(){return h`<ol class="steps">
        ${this.sandbox.steps.map(({words:e})=>h`<li>${e}</li>`)}
      </ol>
      <div class="row">
        <button @click=${()=>void this.attempt(`Taking back`,()=>this.sandbox.undo())}>Take the last back</button>
        <button @click=${this.startOver}>Start over</button>
      </div>`}asking(){return h`<label
        ><span class="hidden">A pending pod</span
        ><select @change=${e=>void this.attempt(`Reading the pod`,()=>this.takePod(e.target.value))}>
          <option value="">Take a pending pod, or paste a manifest below</option>
          ${(this.pods.value??[]).map(e=>h`<option value=${e}>${e}</option>`)}
        </select></label
      >
      <textarea
        aria-label="Manifest of a pod or workload, YAML or JSON"
        spellcheck="false"
        autocomplete="off"
        .value=${this.text}
        @input=${e=>this.text=e.target.value}
      ></textarea>
      <div class="row">
        <button class="primary" @click=${()=>void this.askPlace()}>Where would it go?</button>
        <button @click=${()=>void this.askCapacity()}>How many would fit?</button>
        <button @click=${()=>void this.askChanges()}>What would make it fit?</button>
      </div>`}shown(e){return e.kind===`explanation`?h`<mooring-decision .columns=${e.columns}></mooring-decision>`:e.kind===`changes`?h`<mooring-changes .pod=${e.pod} .group=${e.group} .session=${this.sandbox.session} asked></mooring-changes>`:e.kind===`capacity`?ui(e.found):h`<div class="stack">${(e.found.nodes??[]).map(fi)} ${di(e.found)}</div>`}async takePod(e){let[t=``,n=``]=e.split(`/`);n&&(this.text=await Ln(await J(`Pod`,t,n)))}askPlace(){return this.attempt(`Placing`,async()=>{let e=await _n({pod:await this.pod(),allRejections:!0,session:this.sandbox.session});this.answer={kind:`explanation`,columns:e}})}askCapacity(){return this.attempt(`Counting`,async()=>{let e=[await this.pod()];this.answer={kind:`capacity`,found:await U(`SimulationService/EstimateCapacity`,{session:this.sandbox.session,shapes:e,includeNodes:!0})}})}askChanges(){return this.attempt(`Reading the pod`,async()=>{let e=await Fn(this.text);this.answer={kind:`changes`,pod:{object:Rn(e)},group:In(e)}})}askRemoval(){return this.attempt(`Placing its pods`,async()=>{let e=await U(`SimulationService/PlanRemoval`,{session:this.sandbox.session,nodes:[this.node]});this.answer={kind:`removal`,found:e}})}async pod(){return{object:Rn(await Fn(this.text))}}async attempt(e,t){if(!this.busy){[this.busy,this.error]=[e,void 0];try{await t()}catch(e){this.error=e}this.busy=``}}};E([C({attribute:!1})],$.prototype,`query`,void 0),E([w()],$.prototype,`node`,void 0),E([w()],$.prototype,`text`,void 0),E([w()],$.prototype,`busy`,void 0),E([w()],$.prototype,`answer`,void 0),E([w()],$.prototype,`error`,void 0),E([w()],$.prototype,`count`,void 0),$=E([S(`mooring-what-if`)],$);function ui(e){let[t]=e.shapes??[];if(!t)return h``;let{count:n=0,limited:r=!1,end:i,nodes:a=[]}=t,o=[...a].sort((e,t)=>(t.count??0)-(e.count??0)).slice(0,20);return h`<section class="card stack tight" aria-labelledby="room">
    <h2 id="room">${r?`At least `:``}${O(n,`more pod`)} would fit</h2>
    ${i?.message?h`<p>Then: ${i.message}</p>`:_}
    ${o.length?h`<p class="quiet">Most on ${o.map(e=>`${e.node} (${D(e.count??0)})`).join(`, `)}</p>`:_} ${di(e)}
  </section>`}function di({placedCount:e=0,unplaced:t=[],preempted:n=[]}){if(!e&&!t.length)return h``;let r=n.length?` They preempt ${n.slice(0,3).map(K).join(`, `)}${n.length>3?`, …`:``}.`:``;return h`<p class="quiet">Pending pods come first: ${e} placed, ${t.length} still pending.${r}</p>`}function fi({node:e,removable:t,landings:n=[],endingPodCount:r=0,alone:i=[],exhaustedBudgets:a=[]}){let o=n.filter(({waits:e})=>e).length;return h`<section class="card stack tight" aria-label="If ${e} goes">
    <h2>If ${e} goes</h2>
    <p>
      ${t?h`<span class="good">✓ It can go:</span> ${n.length?`each of its pods finds another node.`:`no pod has to move.`}`:o?h`<span class="bad">✕ ${O(o,`pod`)} would wait</span> until the Node object is deleted.`:h`<span class="bad">✕ It can't go:</span> not every pod finds another node.`}
      ${r?h`<span class="quiet">${O(r,`pod`)} of DaemonSets would end with it.</span>`:_}
    </p>
    ${a.map(e=>h`<p class="bad">PodDisruptionBudget ${e} allows no disruption now.</p>`)}
    ${i.length?h`<p class="quiet">Single replicas: ${i.map(K).join(`, `)}</p>`:_}
    <ul class="landings">
      ${n.map(({pod:e,node:t,verdict:n,waits:r})=>h`<li>
            <a href=${Z(e)}>${K(e)}</a>
            ${t?h`→ <a href=${V([`nodes`,t])}>${t}</a>${r?`, once the Node object is deleted`:_}`:h`<span class="bad">✕ ${n?.message||(n?.reasons??[]).join(`, `)}</span>`}
          </li>`)}
    </ul>
  </section>`}async function pi(e){return(await U(`ClusterService/ListNodes`,{},e)).nodes?.names?.names??[]}async function mi(e){return((await U(`ClusterService/ListPendingPods`,{},e)).pods??[]).map(({pod:e})=>K(e)).slice(0,ci)}var hi={"":{title:`Overview`,render:()=>h`<mooring-overview></mooring-overview>`},decisions:{title:`Decisions`,render:_i},pods:{title:`Pods`,render:vi},nodes:{title:`Nodes`,render:yi},queue:{title:`Queue`,render:({query:e})=>h`<mooring-queue .query=${e}></mooring-queue>`},profiles:{title:`Profiles`,render:({query:e})=>h`<mooring-profiles .query=${e}></mooring-profiles>`},"what-if":{title:`What if`,render:({query:e})=>h`<mooring-what-if .query=${e}></mooring-what-if>`},plugins:{title:``,render:({path:[,e=``]})=>h`<mooring-plugin .name=${e}></mooring-plugin>`}},gi=class extends x{constructor(...e){super(...e),this.route=B(location.hash),this.processes=new W(this,vn,{every:15e3}),this.onHash=()=>{this.route=B(location.hash)}}static{this.styles=[tt,T,o`
      :host {
        min-height: 100vh;
      }
      header {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0 var(--s5);
        padding: 0 var(--s5);
      }
      .brand {
        font-weight: 650;
        font-size: 1rem;
        letter-spacing: -0.01em;
        color: inherit;
        text-decoration: none;
        padding: var(--s3) 0;
      }
      nav {
        flex: 1 1 auto;
        min-width: 0;
        overflow-x: auto;
        scrollbar-width: none;
      }
      nav ul {
        display: flex;
        list-style: none;
        gap: var(--s1);
      }
      nav a {
        display: block;
        white-space: nowrap;
        padding: var(--s3) var(--s2);
        color: var(--quiet);
        text-decoration: none;
        border-bottom: 2px solid transparent;
      }
      nav a:hover {
        color: var(--text);
      }
      nav a[aria-current] {
        color: var(--text);
        border-color: var(--accent);
      }
      nav a:focus-visible {
        outline-offset: -2px;
      }
      main {
        max-width: 110rem;
        margin: 0 auto;
        padding: var(--s5);
      }
      main:focus {
        outline: none;
      }
      .skip:not(:focus) {
        position: absolute;
        clip-path: inset(50%);
      }
      @media (max-width: 40rem) {
        header {
          padding: 0 var(--s4);
        }
        nav {
          order: 3;
          flex-basis: 100%;
        }
        .process {
          margin-inline-start: auto;
        }
        main {
          padding: var(--s4);
        }
      }
    `]}connectedCallback(){super.connectedCallback(),addEventListener(`hashchange`,this.onHash)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`hashchange`,this.onHash)}updated(e){if(!e.has(`route`))return;let t=this.renderRoot.querySelector(`nav`),n=t?.querySelector(`[aria-current]`);t&&n&&(t.scrollLeft=n.offsetLeft-t.offsetLeft-(t.clientWidth-n.offsetWidth)/2)}render(){let[e=``]=this.route.path,t=hi[e];return document.title=[...this.route.path.slice().reverse(),`mooring`].join(` · `),h`<button class="skip" @click=${()=>this.renderRoot.querySelector(`main`)?.focus()}>Skip to the content</button>
      <header>
        <a class="brand" href=${V([])}>mooring</a>
        <nav aria-label="Views">
          <ul>
            ${Object.entries(hi).filter(([,{title:e}])=>e).map(([t,{title:n}])=>h`<li><a href=${V(t?[t]:[])} aria-current=${t===e?`page`:_}>${n}</a></li>`)}
          </ul>
        </nav>
        <div class="process">${this.picker()}</div>
      </header>
      <main tabindex="-1">
        ${t?et(this.route.query.get(`process`),t.render(this.route)):h`<h1>There is no such view</h1><p><a href=${V([])}>To the overview</a></p>`}
      </main>`}picker(){let{value:e=[],error:t}=this.processes;if(t)return h`<span class="bad" role="alert">✕ mooring web does not answer</span>`;let n=e.find(e=>e.name===this.route.query.get(`process`))??e[0];if(!n)return _;let r=n.state===`ok`?_:h`<span class="bad" role="alert" title=${n.message??``}>✕ unreachable</span>`;return e.length===1?h`${r} <span class="quiet" title=${n.address}>${n.name}</span>`:h`${r}
      <select aria-label="Process" @change=${e=>H({process:e.target.value})}>
        ${e.map(e=>h`<option value=${e.name} ?selected=${e===n}>${e.name}</option>`)}
      </select>`}};E([w()],gi.prototype,`route`,void 0),gi=E([S(`mooring-page`)],gi);function _i({path:[,e],query:t}){return e?h`<mooring-decision-view .seq=${e}></mooring-decision-view>`:h`<mooring-decisions .query=${t}></mooring-decisions>`}function vi({path:[,e,t],query:n}){return e&&t?h`<mooring-pod .namespace=${e} .name=${t}></mooring-pod>`:h`<mooring-pods .query=${n}></mooring-pods>`}function yi({path:[,e],query:t}){return e?h`<mooring-node .name=${e}></mooring-node>`:h`<mooring-nodes .query=${t}></mooring-nodes>`}